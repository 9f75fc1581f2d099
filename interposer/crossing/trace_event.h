/* Events in the trace (base/trace.h). */
#pragma once
#include "base/trace.h"
#include "crossing/event.h"

void trace_event_line(const char *what, const struct event *ev, uint64_t number);

/* Traces WHAT happens to an event.  NUMBER: the event's own, or the one before if it has none yet. */
static inline void trace_event(const char *what, const struct event *ev, uint64_t number)
{
	if (trace_topics)
		trace_event_line(what, ev, number);
}
