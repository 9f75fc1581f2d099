#include "log/log_cycle.h"
#include <errno.h>
#include "base/crc32c.h"
#include "log/log_segment.h"
#include "log/log_writer.h"

enum {
	RECENT = 2 * LOG_PERIOD_MAX,
	PAUSE_TICKS = 1 << 22, /* a longer pause between two calls is no polling: the times are kept */
};

/* Can the event be a turn?  Only a call of a plug-in that says nothing of messages. */
static bool polls(const struct event *ev)
{
	if (ev->kind != LOG_HYPERCALL || (ev->begun && ev->begun - log_.cycle.begun > PAUSE_TICKS))
		return false;
	for (unsigned i = 0; i < ev->nchunks; i++)
		if (!ev->chunks[i].addr && ev->chunks[i].note != RDB_NOTE_SENT)
			return false;
	return true;
}

/* Model of the n-th newest event. */
static uint32_t before(unsigned n)
{
	return log_.cycle.recent[(log_.cycle.next - n) % RECENT];
}

/* The period of the cycle, of which one full turn has been seen; 0: there is none. */
static unsigned period(uint32_t at)
{
	for (unsigned k = 2; k <= LOG_PERIOD_MAX; k++) {
		unsigned i = 1;
		if (before(k) != at)
			continue;
		while (i <= k && before(i) && before(i) == before(i + k))
			i++;
		if (i > k)
			return k;
	}
	return 0;
}

static int begin(unsigned k)
{
	struct log_cycle *c = (void *)(log_.base + log_.off);
	if (log_.off + sizeof(*c) + LOG_END_ROOM > log_.len)
		return 0;
	if (log_.budget && log_written() + sizeof(*c) > log_.budget)
		return -EDQUOT;
	log_present(log_.off + sizeof(*c));
	c->count = 1;
	c->not_count = ~1u;
	c->period = k;
	c->zero = 0;
	c->check = crc32c(0, &c->period, 8);
	__atomic_store_n(&c->size, (uint32_t)sizeof(*c) | LOG_SHORT | LOG_CYCLE, __ATOMIC_RELEASE);
	log_.cycle.at = log_.off;
	log_.cycle.period = k;
	log_.off += sizeof(*c);
	log_.last = NULL;
	return 1;
}

int log_cycle_turn(const struct event *ev, uint32_t at)
{
	int rc = 0;
	if (!before(1) || !polls(ev))
		return 0;
	if (log_.cycle.at) {
		struct log_cycle *c = (void *)(log_.base + log_.cycle.at);
		/* the event a period ago has the same model */
		if (before(log_.cycle.period) == at && c->count != UINT32_MAX) {
			const uint64_t n = c->count + 1u;
			__atomic_store_n((uint64_t *)&c->count, n | (~n << 32), __ATOMIC_RELEASE);
			rc = 1;
		}
	} else {
		const unsigned k = period(at);
		if (k)
			rc = begin(k);
	}
	if (rc == 1) {
		log_.same = at;
		log_.cycle.recent[log_.cycle.next++ % RECENT] = at;
		log_.cycle.begun = ev->begun;
	}
	return rc;
}

void log_cycle_appended(const struct event *ev, uint32_t at)
{
	if (log_.cycle.at) /* the events of the cycle are not the last in the log any more */
		for (unsigned i = 0; i < RECENT; i++)
			log_.cycle.recent[i] = 0;
	log_.cycle.at = 0;
	log_.cycle.recent[log_.cycle.next++ % RECENT] = at;
	log_.cycle.begun = ev->begun;
}
