#include "crossing/trace_event.h"
#include "crossing/source.h"

static unsigned topics_of(const struct event *ev)
{
	if (ev->kind != LOG_HYPERCALL)
		return TRACE_EVENT;
	return TRACE_EVENT | (ev->nr >> 16 == RDB_NS_MPI ? TRACE_MPI : ev->nr >> 16 == RDB_NS_VERBS ? TRACE_VERBS : 0);
}

void trace_event_line(const char *what, const struct event *ev, uint64_t number)
{
	char name[128];
	if (!(trace_topics & topics_of(ev)))
		return;
	source->name(ev->kind, ev->nr, name, sizeof(name));
	trace_line("event %lu: thread %u %s %s = %ld", (unsigned long)number, thread_self()->upper.number, what, name,
		   (long)ev->result);
}
