/* Where the kernel has no Syscall User Dispatch (before 5.11): a seccomp filter on the instruction pointer
 * turns the upper half's system calls into the same SIGSYS.
 *
 * A filter cannot be taken off and is inherited over fork and exec.  It taxes the lower half's calls too.  A
 * native program below a rank is not touched by it, unless it is linked at a low address (not PIE).
 */
#ifndef RDB_SECCOMP_H
#define RDB_SECCOMP_H
#include <stdbool.h>

/* From now on seccomp_on() is how system calls are caught; inherited: the filter is there already. */
void seccomp_use(bool inherited);
bool seccomp_in_use(void);
/* Puts the filter on, once.  0 or -errno. */
int seccomp_on(void);
/* This process, a child after fork, is to be native: its exec is one too. */
void seccomp_leave(void);
bool seccomp_left(void);
/* Can a filter be put on here?  Tried in a child. */
bool seccomp_possible(void);

#endif
