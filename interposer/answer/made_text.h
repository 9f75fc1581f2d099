/* Text that a program makes by itself in memory that it may write to and run, such as a compiler's at run time.
 *
 * It is mapped for writing only, which on x86 allows to read it too, but not to run it: the first instruction that is run there
 * faults.  Then it is looked at (instructions.h), and becomes what was asked for.  What is made there later is not looked
 * at: rdtsc and CPUID trap from then on, and a recording that ends with an RDRAND there says so.
 * The protection itself is the mark, so forks and images keep it; a program that asks for it gets reading as well.
 * Where text is made in memory that may not be run yet (mprotect(2)), it is looked at whenever that changes.  Shared memory is
 * left alone, since others read and run the same text: the two trap as well. */
#ifndef RDB_MADE_TEXT_H
#define RDB_MADE_TEXT_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

/* What the kernel is asked for where the program asks for `prot`; `own`: for private memory that is no file's. */
int made_text_protection(int prot, bool own);
/* mprotect(2).  What is to be run, and no more to be written, is looked at here. */
long made_text_protect(uint64_t start, uint64_t end, int prot);
/* The program has mapped text that nobody looks at, if this is of that kind. */
void made_text_mapped(int prot, bool shared, bool file);
/* The recording is about to end: is there what was not recorded?  Then it says so. */
void made_text_end(void);
/* Memory of that kind. */
static inline bool made_text_unrun(int prot)
{
	return (prot & (PROT_READ | PROT_WRITE | PROT_EXEC)) == PROT_WRITE;
}
/* A fault where nothing may be run.  True: now it may. */
bool made_text_fault(const ucontext_t *uc);

#endif
