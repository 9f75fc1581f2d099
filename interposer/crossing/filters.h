/* The program's own filters for system calls (seccomp(2)).
 *
 * The kernel's filters would apply to the calls of the lower half, too.  So rdb carries them out itself: a filter is a
 * classic BPF program over the call's number, arguments and address, and gives the same result in every run.  They lie
 * in upper memory, where images, snapshots and forked children have them; each names the filter that was set before it.
 * A thread's newest one is in struct upper_thread.
 */
#pragma once
#include <linux/filter.h>
#include "base/thread.h"

enum { FILTERS_STRICT = 1 }; /* instead of a filter's address: SECCOMP_SET_MODE_STRICT */

/* What the thread's filters say about the system call that it makes in uc: the return value of the one that prevails.
 * If it kills, the lower 16 bits are the signal. */
uint32_t filters_say(const struct thread *self, const ucontext_t *uc);

/* Will the call of uc be made, or at least answered?  False: it raises SIGSYS, or ends the thread. */
bool filters_answer(const struct thread *self, const ucontext_t *uc);
/* Would the kernel accept the len instructions at `code` (upper memory) as a filter after `before`? 0, -EFAULT, -EINVAL
 * or -ENOMEM. */
long filters_check(uint64_t before, uint64_t code, unsigned len);
/* Stores them, which filters_check() has accepted. The filter's address. */
uint64_t filters_add(uint64_t before, uint64_t code, unsigned len);
/* Is `old` one of the filters that were set before `newest`, or that itself?  0 is before all. */
bool filters_follow(uint64_t newest, uint64_t old);
unsigned filters_count(uint64_t newest);

/* Sets them in the kernel, for a process that goes on natively. 0 or -errno. */
int filters_to_kernel(uint64_t newest);

/* Over an execve: a descriptor with all filters, or -errno; in the next program. 0 or -errno. */
int filters_hand_on(void);
int filters_take_over(int fd);
