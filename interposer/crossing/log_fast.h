/* Small records, appended where there is no event in the making: by files that are compiled with
 * -mgeneral-regs-only and run with the program's vector registers and thread pointer. */
#pragma once
#include "arch/crc32c.h"
#include "crossing/arrivals.h"
#include "crossing/ending.h"
#include "log/log_segment.h"
#include "log/stamp.h"
#include "space/device_memory.h"
#include "space/device_quiet.h"
#include "base/thread.h"
#include "base/trace.h"

/* Is there room, without a page fault or another segment? Not while events are traced: the short way writes no
 * line. */
static inline bool log_fast_room(size_t size)
{
	return recording() && !lower.ended && !trace_topics && log_.off + size <= log_.faulted &&
	       log_.off + size + LOG_END_ROOM <= log_.len;
}

static inline bool fast_device_quiet(void)
{
	return !device_regions || device_memory_quiet();
}

/* May the short way begin?  A signal that comes after this reminds the program later.  Device memory is checked
 * separately. */
static inline bool fast_begin_unasked(const struct thread *self)
{
	return !self->pending && !self->yield && !arrivals_waiting;
}

static inline bool fast_begin(const struct thread *self)
{
	return fast_begin_unasked(self) && fast_device_quiet();
}

/* One event.  nargs: 0 or 1.  False: the recording has just ended. */
static inline bool log_fast_append(struct thread *self, struct log_record what, uint64_t arg)
{
	const size_t size = sizeof(what) + 8ul * what.nargs;
	struct log_record *rec = (void *)(log_.base + log_.off);
	const uint64_t *word = (const uint64_t *)rec;
	if (!log_begin(self))
		return false;
	what.not_repeat = UINT32_MAX;
	what.event = lower.event + 1;
	what.thread = self->upper.number;
	*rec = what;
	if (what.nargs)
		*(uint64_t *)(rec + 1) = arg;
	uint64_t crc = ~0u;
	for (unsigned i = 2; i < size / 8; i++)
		crc = crc32c_word(crc, word[i]);
	rec->check = ~(uint32_t)crc;
	__atomic_store_n(&rec->size, (uint32_t)size, __ATOMIC_RELEASE);
	log_.off += size;
	log_.last = NULL;
	log_.same = 0;
	log_cycle_ends();
	lower.event++;
	log_done();
	return true;
}
