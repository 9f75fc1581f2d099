/* Text that a program makes itself in memory that is writable and executable, such as a run-time compiler's.
 *
 * It is mapped write-only, which on x86-64 allows reading, but not execution: the first instruction that runs there
 * faults.  Then it is examined (instructions.h) and gets the protection that was asked for.  Text made there later is
 * not examined: from then on the instructions that read the counter or identify the processor trap, and at its end a
 * recording warns if the text holds another such instruction.
 * The protection itself is the mark, so forks and images keep it; a program that really asks for it gets reading, too.
 * Text made in memory that is not executable yet (mprotect(2)) is examined each time it becomes executable.  Shared
 * memory is left alone, since others read and run the same text: there, too, the instructions trap.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

/* Protection to ask the kernel for when the program asks for `prot`; own: for private memory of no file. */
int made_text_protection(int prot, bool own);
/* mprotect(2).  Examines text that becomes executable and read-only. */
long made_text_protect(uint64_t start, uint64_t end, int prot);
/* Call after a mapping: if it has text that is not examined, its instructions must trap. */
void made_text_mapped(int prot, bool shared, bool file);
/* Call before the recording ends: warns if there are instructions whose results were not recorded. */
void made_text_end(void);
/* Is it memory with text that has not been run yet? */
static inline bool made_text_unrun(int prot)
{
	return (prot & (PROT_READ | PROT_WRITE | PROT_EXEC)) == PROT_WRITE;
}
/* Fault at memory that is not executable.  True: now it is. */
bool made_text_fault(const ucontext_t *uc);
