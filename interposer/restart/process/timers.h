/* Interval timers of a program that is brought back. */
#pragma once
#include "crossing/event.h"

void timers_syscall(const struct event *ev);
/* The log delivers a signal: a timer's signal is not on the way any more. */
void timers_delivered(int sig);
/* Computes the time left at the cut (now_ns, by the recording's clock), and writes it down for restarts of the
 * branch. */
void timers_save(uint64_t now_ns);
void timers_restore(void);
/* At the start of a recording: writes down the timers that the program before has set. */
void timers_left(void);
/* The timers as the kernel has them now, 3 * 32 bytes, and back. */
void timers_look(void *out);
void timers_from(const void *in);
