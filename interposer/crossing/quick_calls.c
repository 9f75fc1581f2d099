#include "crossing/quick_calls.h"
#include <string.h>
#include "crossing/event.h"
#include "crossing/clock_fast.h"
#include "crossing/source.h"
#include "crossing/log_fast.h"
#include "space/shared_memory.h"

/* Otherwise the plug-ins' lock and the baton are needed, or more than a record is due. */
static bool simple(const struct thread *self)
{
	return clock_fast_.left && recording() && !lower.ended && !self->depth && threads_alive() == 1 &&
	       !shared_regions;
}

bool quick_call(uint32_t fn, uint32_t nargs, const uint64_t *args)
{
	static struct event ev; /* without chunks */
	struct thread *self = thread_self();
	if (!host_may_be_quick(fn) || !simple(self) || !fast_begin_unasked(self))
		return false;
	ev.begun = stamp_begin();
	/* if a device has written, the call is made again in the general way */
	if (!host_quick(fn, args) || !fast_device_quiet())
		return false;
	clock_fast_.left--;
	ev.kind = LOG_HYPERCALL;
	ev.nr = fn;
	ev.nargs = (uint16_t)nargs;
	memcpy(ev.args, args, 8ul * nargs);
	event_logged(&ev);
	return true;
}

void quick_calls_again(uint32_t fn)
{
	if (!clock_fast_.left && host_may_be_quick(fn))
		source->quick_again();
}
