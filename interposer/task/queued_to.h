/* A signal of rt_tgsigqueueinfo(2), as of pthread_sigqueue(3), is for one thread alone, but looks like one for the
 * process.  So those that this process sends to its own threads carry a mark, in bytes that the kernel copies and that
 * mean nothing in signals of si_code <= 0.  The mark stays while the signal waits. */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Before the call: address of what is to be sent, `info` or `room` with a marked copy of it. */
uint64_t queued_to(uint64_t sig, uint64_t info, siginfo_t *room);
void queued_to_mark(siginfo_t *info);
bool queued_to_marked(const siginfo_t *info);
/* Before the program sees it. */
void queued_to_unmark(siginfo_t *info);
