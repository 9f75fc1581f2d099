/* A thread that waits for another by looking at memory, and asks for something in each turn: the time, to give up at a
 * deadline; a call that brings nothing yet.  Each event is a place where it can give way, if it is known to wait.  One
 * turn shows that: from an event to where it is asked for again, with up to four events in it, nothing but a spin's
 * counters may change (spin.h). Meanwhile clocks stand still, as they may, lest registers differ for the time
 * alone. */
#pragma once
#include <stdint.h>
#include <ucontext.h>

/* The calling thread is about to ask, by the instruction at `at`.  May wait for the baton. */
void polling_asks(uint64_t at);
/* Its question, if any, has been answered, and signals are delivered. May move uc on, to where the thread asks
 * again. */
void polling_answered(ucontext_t *uc);
/* The thread asks for a clock, which says `now`.  Returns what it is to be told. */
int64_t polling_clock(uint64_t clock, int64_t now);
