/* Events that pile up: many in a row that bring nothing and send nothing, such as those of a thread that polls while
 * the thread that it waits for cannot run.  The user is told at four million, and at each doubling. */
#pragma once
#include "crossing/event.h"

/* Number of the next event to look at: every EACH-th, until one brings nothing. */
extern uint64_t piling_next;
void piling_look(const struct event *ev, uint64_t number);

static inline void piling(const struct event *ev, uint64_t number)
{
	if (__builtin_expect(number >= piling_next, 0))
		piling_look(ev, number);
}

/* A recording begins. */
void piling_begin(void);
