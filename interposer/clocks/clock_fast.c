/* The short way to answer the program's vDSO: no event in the making, no vector register (this file is compiled
 * with -mgeneral-regs-only; gate.S saves none), no thread-local variable (the thread pointer is the program's).
 *
 * Only what the general way does at nearly every event is done here: read the clock, append one record.
 * The general way is taken where anything else may be due, and after FAST_RUN events for what it looks at
 * itself: signals for the whole process, checkpoints, hashes.
 */
#include <time.h>
#include "boundary/arrivals.h"
#include "clocks/clock.h"
#include "memory/device_memory.h"
#include "boundary/gate.h"
#include "log/log_segment.h"
#include "log/stamp.h"
#include "threads/thread.h"

enum { FAST_RUN = 63, RECORD = sizeof(struct log_record) + 8 };

struct clock_fast clock_fast_;

static inline uint64_t crc32q(uint64_t crc, uint64_t word)
{
	__asm__("crc32q %1, %0" : "+r"(crc) : "r"(word));
	return crc;
}

static inline uint64_t stamped(uint64_t at_ns)
{
	/* the stamps of other events may be a little ahead of the clock */
	if (stamp_last - at_ns < 1000000)
		at_ns = stamp_last;
	return stamp_last = at_ns;
}

static inline void append(struct thread *self, uint64_t clock, int64_t ns, uint64_t at_ns)
{
	struct log_record *rec = (void *)(log_.base + log_.off);
	const uint64_t *word = (const uint64_t *)rec;
	*rec = (struct log_record){
		.not_repeat = UINT32_MAX,
		.kind = LOG_HYPERCALL,
		.nargs = 1,
		.nr = RDB_FN(RDB_NS_CORE, RDB_CORE_CLOCK),
		.event = lower.event + 1,
		.result = ns,
		.at_ns = at_ns,
		.thread = self->upper.number,
	};
	*(uint64_t *)(rec + 1) = clock;
	uint64_t crc = ~0u;
	for (unsigned i = 2; i < RECORD / 8; i++)
		crc = crc32q(crc, word[i]);
	rec->check = ~(uint32_t)crc;
	__atomic_store_n(&rec->size, RECORD, __ATOMIC_RELEASE);
	log_.off += RECORD;
	log_.last = rec;
}

int64_t clock_fast(uint64_t clock)
{
	struct timespec ts;
	struct thread *self = thread_self();
	if (!clock_fast_.left || clock > CLOCK_MONOTONIC || lower.mode != MODE_RECORD || lower.ended ||
	    log_.off + RECORD > log_.faulted || log_.off + RECORD + LOG_END_ROOM > log_.len)
		return CLOCK_NOT_FAST;
	/* a signal that comes from here on has to be reminded of: nobody looks before we leave */
	self->fast = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (self->pending || self->yield || arrivals_waiting || device_regions ||
	    clock_fast_.read((clockid_t)clock, &ts)) {
		self->fast = false;
		return CLOCK_NOT_FAST;
	}
	int64_t ns = ts.tv_sec * 1000000000 + ts.tv_nsec;
	clock_fast_.left--;
	event_appending = self;
	append(self, clock, ns, stamped((uint64_t)ns + clock_fast_.ahead_ns[clock]));
	event_appending = NULL;
	lower.event++;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	self->fast = false;
	return ns;
}

void clock_fast_again(void)
{
	clock_fast_.left = FAST_RUN;
}
