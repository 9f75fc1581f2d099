/* Where the kernel has no Syscall User Dispatch (before 5.11): a seccomp filter on the instruction pointer turns system
 * calls of the upper half into the same SIGSYS.
 *
 * A filter cannot be removed and is inherited over fork and exec. It also slows the calls of the lower half. A native
 * program started by a rank is not affected unless it is linked at a low address (not PIE).
 */
#pragma once
#include <stdbool.h>

/* Makes seccomp_on() the way to catch system calls; inherited: the filter is already installed. */
void seccomp_use(bool inherited);
bool seccomp_in_use(void);
/* Installs the filter once. 0 or -errno. */
int seccomp_on(void);
/* This forked child becomes native: what it executes is native, too. */
void seccomp_leave(void);
bool seccomp_left(void);
/* Can a filter be installed here? Tried in a child. */
bool seccomp_possible(void);
