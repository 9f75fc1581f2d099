/* RDFSBASE, WRFSBASE and their GS forms where the kernel has not enabled them (before Linux 5.9, or
 * nofsgsbase): they fault, and arch_prctl(2) does what they would have done.  Right, but each costs a signal.
 */
#ifndef RDB_FSGSBASE_H
#define RDB_FSGSBASE_H
#include <stdbool.h>
#include <ucontext.h>

/* Before the first of them is executed, where probe_fsgsbase() says no.  0 or -errno. */
int fsgsbase_emulate(void);
/* SIGILL at one of them in the lower half: done, go on after it.  Executes none itself. */
bool fsgsbase_fault(ucontext_t *uc);

#endif
