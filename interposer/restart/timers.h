/* Interval timers of a program that is brought back. */
#ifndef RDB_LIVE_TIMERS_H
#define RDB_LIVE_TIMERS_H
#include "crossing/event.h"

void timers_syscall(const struct event *ev);
/* A signal is delivered, by the log: one of theirs is not under way any more. */
void timers_delivered(int sig);
/* What is left of them at the cut (now_ns, by the recording's clock); also written down for restarts of the branch. */
void timers_save(uint64_t now_ns);
void timers_restore(void);
/* Does one? */
bool timers_run(void);
/* As the kernel has them now, 3 * 32 bytes, and back. */
void timers_look(void *out);
void timers_from(const void *in);

#endif
