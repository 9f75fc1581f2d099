#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "space/arena.h"
#include "crossing/arrivals.h"
#include "crossing/boundary.h"
#include "crossing/ending.h"
#include "crossing/order.h"
#include "crossing/piling.h"
#include "crossing/trace_event.h"
#include "space/sent.h"
#include "base/descriptors.h"
#include "base/monotonic.h"
#include "space/device_memory.h"
#include "space/ends.h"
#include "space/followed.h"
#include "log/log_writer.h"
#include "space/page_hashes.h"
#include "crossing/schedule.h"
#include "base/thread.h"
#include "space/shared_kinds.h"
#include "space/shared_memory.h"
#include "space/shared_sync.h"
#include "space/shared_turns.h"

enum { HASH_EVENTS = 1000 };

/* The time budget of hashes. */
static struct {
	uint64_t spent_ns, started_ns, last_event;
} hashes;

struct event *event_begin(enum log_kind kind, uint32_t nr, const uint64_t *args, unsigned nargs)
{
	struct thread *self = thread_self();
	if (self->depth == EVENTS_NESTED)
		rdb_fatal("callbacks nested more than %d deep", EVENTS_NESTED);
	self->state = THREAD_ASKS;
	/* No thread may run between a signal and the event or place before it.  PREEMPT and RESUME do not yield: they
	 * are no question that could be asked again after an image. */
	if (kind != LOG_SIGNAL && kind != LOG_PREEMPT && kind != LOG_RESUME) {
		if (self->yield)
			schedule->yield();
		if (lower.opt.chaos && recording())
			schedule->late();
	}
	self->asked += kind == LOG_SYSCALL || kind == LOG_HYPERCALL;
	struct event *ev = &self->events[self->depth++];
	if (lower.mode->asked)
		lower.mode->asked();
	ev->kind = (uint16_t)kind;
	ev->nr = nr;
	ev->nargs = (uint16_t)nargs;
	if (nargs)
		memcpy(ev->args, args, 8ul * nargs);
	ev->result = 0;
	ev->emulated = false;
	ev->begun = 0;
	ev->waited_ns = self->waited_ns;
	self->waited_ns = 0;
	ev->done = self->done;
	self->done = 0;
	ev->asked_ns = shared_regions ? shared_clock_ns() : 0;
	ev->looks_ns = 0;
	ev->nchunks = 0;
	ev->notes_used = 0;
	ev->more_used = 0;
	ev->nsent = 0;
	ev->sent_logged = false;
	return ev;
}

struct event *event_current(void)
{
	const struct thread *self = thread_self();
	return self->depth ? &self->events[self->depth - 1] : NULL;
}

static bool sends(void)
{
	return recording() && lower.started && lower.opt.check != CHECK_OFF;
}

static bool others_write(uint64_t start, uint64_t end)
{
	return (shared_regions && shared_contested(start, end)) || (device_regions && device_memory_in(start, end));
}

static struct rdb_note_sent *new_sent(struct event *ev, unsigned n)
{
	while (ev->nsent + n > ev->sent_room)
		ev->sent = event_more_parts(ev->sent, &ev->sent_room, sizeof(*ev->sent));
	return &ev->sent[ev->nsent];
}

void event_sent(struct event *ev, const void *upper, size_t len)
{
	uint64_t at = (uint64_t)upper;
	if (!sends() || !at || !len || !rdb_is_upper_range(at, len) || others_write(at, at + len))
		return;
	for (bool there = true; there && len;) {
		const size_t n = len < (1ul << 30) ? len : (1ul << 30);
		struct rdb_note_sent *span = new_sent(ev, 1);
		*span = (struct rdb_note_sent){.at = at, .len = (uint32_t)n};
		if (n > SENT_WHOLE && lower.opt.check == CHECK_SAMPLE)
			span->at |= (lower.event % SENT_APART + 1) << RDB_SENT_PHASE;
		there = sent_check(span);
		ev->nsent += span->len != 0;
		at += n;
		len -= n;
	}
}

/* False: some of them are not mapped, or others may write between them. */
static bool sent_together(struct event *ev, uint64_t at, size_t len, int64_t stride, uint64_t count)
{
	const uint64_t last = at + (uint64_t)stride * (count - 1), from = last < at ? last : at;
	const uint64_t to = (last < at ? at : last) + len;
	if (len > SENT_WHOLE || count >> 32 || !from || to <= from || !rdb_is_upper_range(from, to - from) ||
	    others_write(from, to))
		return false;
	struct rdb_note_sent *span = new_sent(ev, 2);
	span[0] = (struct rdb_note_sent){.at = at | RDB_SENT_BLOCKS, .len = (uint32_t)len};
	span[1] = (struct rdb_note_sent){.at = (uint64_t)stride, .len = (uint32_t)count};
	if (!sent_check(span))
		return false;
	ev->nsent += 2;
	return true;
}

void event_sent_blocks(struct event *ev, const void *upper, int64_t count, int64_t extent,
		       const struct rdb_blocks *blocks, unsigned n)
{
	uint64_t all = 0, bytes = 0, apart = 1;
	if (!sends())
		return;
	for (unsigned k = 0; k < n; k++) {
		all += blocks[k].count * (uint64_t)count;
		bytes += blocks[k].count * blocks[k].len * (uint64_t)count;
	}
	if (lower.opt.check == CHECK_SAMPLE && bytes > SENT_WHOLE && all > SENT_BLOCKS)
		apart = all / SENT_BLOCKS < SENT_APART ? all / SENT_BLOCKS : SENT_APART;
	uint64_t next = lower.event % apart; /* the next block to check, counted from the blocks at hand */
	for (int64_t i = 0; i < count; i++)
		for (unsigned k = 0; k < n; k++) {
			const struct rdb_blocks *b = &blocks[k];
			const int64_t stride = b->stride * (int64_t)apart;
			uint64_t at = (uint64_t)upper + (uint64_t)(i * extent + b->offset + (int64_t)next * b->stride);
			const uint64_t some = next < b->count ? (b->count - next + apart - 1) / apart : 0;
			next = next + some * apart - b->count;
			if (some > 1 && sent_together(ev, at, b->len, stride, some))
				continue;
			for (uint64_t j = 0; j < some; j++, at += (uint64_t)stride)
				event_sent(ev, (const void *)at, b->len);
		}
}

/* The program goes on unrecorded if the log takes no more. */
static void append(const struct event *ev, uint64_t number)
{
	if (!log_begin(thread_self())) {
		ending_await();
		return;
	}
	const int rc = log_append(ev, number);
	if (!rc) {
		lower.event = number;
		log_done();
		trace_event("logs", ev, number);
		return;
	}
	if (rc == -EDQUOT && lower.opt.log_budget.unit) {
		boundary_end(LOG_END_BUDGET, 0, lower.opt.log_budget.text);
		rdb_warn("%s: --log-budget %s is spent: the recording ends at event %lu, the program goes on",
			 lower.opt.dir, lower.opt.log_budget.text, (unsigned long)lower.event);
	} else {
		boundary_end(LOG_END_DISK, -rc, "the log could not be written");
		rdb_warn("%s: %s: the recording ends at event %lu, the program goes on", lower.opt.dir, strerror(-rc),
			 (unsigned long)lower.event);
	}
	mode_switch(&mode_pass);
	log_done();
	schedule->open();
}

void event_logged(const struct event *ev)
{
	piling(ev, lower.event + 1);
	append(ev, lower.event + 1);
}

void event_waits(void)
{
	struct event *ev = event_current(), asked;
	if (!recording() || !ev || !ev->nsent || ev->sent_logged)
		return;
	struct event_chunk chunk = {
		.data = ev->sent, .len = (uint32_t)(ev->nsent * sizeof(*ev->sent)), .note = RDB_NOTE_SENT};
	memset(&asked, 0, offsetof(struct event, notes));
	asked.kind = LOG_ASKED;
	asked.nr = ev->nr;
	asked.chunks = &chunk;
	asked.nchunks = 1;
	ev->sent_logged = true;
	append(&asked, lower.event);
}

void event_end_of_file(const uint64_t range[2])
{
	struct event ev;
	memset(&ev, 0, offsetof(struct event, notes));
	ev.kind = LOG_ENDS;
	ev.nargs = 2;
	memcpy(ev.args, range, 2 * sizeof(*range));
	append(&ev, lower.event);
}

void event_mark(enum log_kind kind)
{
	struct event ev;
	memset(&ev, 0, offsetof(struct event, notes));
	ev.kind = (uint16_t)kind;
	if (kind == LOG_START) {
		hashes.started_ns = monotonic_ns();
		page_hashes_forget();
	}
	append(&ev, lower.event);
}

void event_checkpoint(uint32_t number, uint64_t stop_ns)
{
	struct event ev;
	memset(&ev, 0, offsetof(struct event, notes));
	ev.kind = LOG_CHECKPOINT;
	ev.nr = number;
	ev.result = (int64_t)stop_ns;
	append(&ev, lower.event);
}

static void sync_shared(struct event *ev)
{
	shared_sync(ev);
	if (!shared_keys_due() || shared_call_changes_map(ev))
		return;
	schedule->share(0);
	shared_sync_before(ev); /* others may have stored until now */
}

void event_end(struct event *ev)
{
	if (recording() && lower.started) {
		if (arrivals_possible)
			arrivals_at_event(ev);
		if (device_regions)
			device_memory_sync(ev);
		followed_written(ev);
		followed_by_others(ev);
		if (shared_regions)
			sync_shared(ev);
		if (ends_known)
			ends_sync(ev);
		if (lower.opt.order || lower.opt.lean)
			order_checks(ev);
		if (ev->nsent && !ev->sent_logged)
			event_chunk_from(ev, 0, RDB_NOTE_SENT, ev->sent, ev->nsent * sizeof(*ev->sent));
		event_logged(ev);
	} else {
		trace_event("answers", ev, lower.event);
	}
	struct thread *self = thread_self();
	self->depth--;
	self->state = THREAD_RUNS;
}

/* Hashes by default take at most about 1 % of the time; --hash-every N makes them exact. */
static bool hash_due(void)
{
	if (lower.opt.hash_every)
		return lower.event % lower.opt.hash_every == 0;
	if (lower.event - hashes.last_event < HASH_EVENTS)
		return false;
	uint64_t elapsed = monotonic_ns() - hashes.started_ns;
	hashes.last_event = lower.event - HASH_EVENTS + 100; /* look at the clock every 100 events at most */
	return elapsed > 200 * 1000000ull && hashes.spent_ns * 100 < elapsed;
}

void event_hash_if_due(void)
{
	if (hash_due())
		event_hash(LOG_HASH_AT_EVENT);
}

void event_hash(enum log_hash_when when)
{
	if (shared_regions && !shared_hashable())
		return;
	if (device_regions && !device_memory_settled()) {
		hashes.last_event = lower.event - HASH_EVENTS; /* it will be at the next event */
		return;
	}
	uint64_t before = lower.opt.hash_every ? 0 : monotonic_ns();
	struct event ev;
	memset(&ev, 0, offsetof(struct event, notes));
	ev.kind = LOG_HASH;
	ev.nr = when;
	struct event_chunk note = {.note = RDB_NOTE_PAGES};
	if (lower.opt.hash_every) {
		ev.result = (int64_t)page_hashes_take(&note.data, &note.len);
		ev.chunks = &note;
		ev.nchunks = note.len ? 1 : 0;
	} else {
		ev.result = (int64_t)arena_hash();
	}
	if (ends_known)
		ends_say(event_end_of_file);
	if (ev.result) /* 0: it could not be taken, and there is nothing to compare */
		append(&ev, lower.event);
	if (before)
		hashes.spent_ns += monotonic_ns() - before;
	hashes.last_event = lower.event;
}

void event_answered(ucontext_t *uc)
{
	if (lower.started && lower.mode->answered)
		lower.mode->answered(uc);
	if (descriptors_spent)
		descriptors_refill();
}
