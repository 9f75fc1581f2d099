/* What the agent asks of the program that it has stopped. */
#include "replay/replica.h"
#include <string.h>
#include "crossing/boundary.h"
#include "space/arena.h"
#include "task/thread.h"

uint64_t replica_event(void)
{
	return lower.event;
}

uint64_t replica_hash(ucontext_t *uc)
{
	return arena_hash();
}

uint64_t replica_thread(void)
{
	return thread_self()->upper.number;
}

uint32_t replica_next_thread(uint32_t number)
{
	uint32_t next = 0;
	for (const struct thread *t = threads_first(); t; t = t->next)
		if (t->upper.number > number && (!next || t->upper.number < next))
			next = t->upper.number;
	return next;
}

bool replica_other_thread(uint32_t number, struct replica_thread_info *out)
{
	const struct thread *t = threads_find(number);
	if (!t)
		return false;
	*out = (struct replica_thread_info){
		.number = number, .tid = t->upper.tid, .state = t->state, .tls = t->upper.tls};
	memcpy(out->name, t->upper.name, sizeof(out->name));
	if (t == thread_self())
		out->state = THREAD_RUNS;
	else
		thread_context(t, &out->uc);
	return true;
}

uint64_t replica_tls(void)
{
	return thread_self()->upper.tls;
}

void replica_set_tls(uint64_t v)
{
	thread_self()->upper.tls = v;
}
