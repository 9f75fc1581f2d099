/* Timers of timer_create(2) of a program that is brought back: under the ids that the program knows, with the time
 * left. */
#pragma once
#include <signal.h>
#include <time.h>
#include "crossing/event.h"

enum { POSIX_TIMERS = 256 };

struct posix_timer {
	int32_t id, clock;
	int32_t notify, sig, thread; /* struct sigevent; the thread as the program knows it */
	int32_t absolute;
	uint64_t value;        /* what the signal carries */
	struct itimerspec set; /* zero: the timer does not run */
	uint64_t at_ns;        /* when it was set, by the recording's clock */
	uint64_t heard_ns;     /* when its newest signal came since then; 0: none has */
};

/* A system call that the log has answered. */
void posix_timers_syscall(const struct event *ev);
/* The log delivers a signal, which may be a timer's. */
void posix_timers_delivered(const siginfo_t *info);
/* At the cut: computes the time left and writes it down, for restarts of the branch; makes the timers. */
void posix_timers_save(uint64_t now_ns);
void posix_timers_restore(void);

/* Lists the timers that the kernel has now, except those of the lower half.  Their number, or -errno. */
int posix_timers_look(struct posix_timer *list, unsigned room);
void posix_timers_from(const struct posix_timer *list, unsigned n);
/* timer_create(2) for a program whose threads may have other ids now. */
long posix_timer_create(uint64_t clock, uint64_t how, uint64_t id);
