/* Timers of timerfd_create(2) at the cut: they go off when they would have. */
#pragma once
#include <stdint.h>
#include "restart/base/open_table.h"

/* As timerfd_settime(2) set the timer, and the expirations read since. */
struct timer_state {
	struct itimerspec value;
	uint64_t absolute, since_ns, expired; /* absolute: the flags of that call, if it named a time */
};
/* Those flags. */
void timerfd_flags(struct opened *f, uint64_t flags);

struct timer_state timerfd_state(const struct opened *f);
/* Tells the processes that share it how it is set now. */
void timerfd_told(const struct opened *f);
/* Sets the timer again.  NOW_NS: of the recording, whose clock is monotonic.  -1: errno says why. */
int timerfd_again(int fd, int clock, const struct timer_state *t, uint64_t now_ns);
/* Computes the time left, for restarts of the branch, which begins then. */
void timerfd_state_save(struct timer_state *t, uint64_t now_ns);
void timerfd_save(struct opened *f, uint64_t now_ns);
