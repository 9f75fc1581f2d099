/* The fate of a receive is further on in the log.  A second reader reads ahead as far as it is asked for. */
#include <stdlib.h>
#include <string.h>
#include "crossing/boundary.h"
#include "log/log_reader.h"
#include "replay/expand.h"

enum { BUCKETS = 4096 };

struct known {
	struct known *next;
	enum rdb_fate fate;
	struct rdb_note_recv note;
};

static struct {
	struct log_reader reader;
	bool open, at_end;
	uint64_t asked; /* the newest order asked for */
	struct known *buckets[BUCKETS];
} ahead;

/* Fates are asked for in order: those before ahead.asked (blocking receives) are not needed any more. */
static void forget(struct known **at)
{
	while (*at) {
		struct known *one = *at;
		if (one->note.order >= ahead.asked) {
			at = &one->next;
			continue;
		}
		*at = one->next;
		free(one);
	}
}

static void learn(enum rdb_fate fate, const struct rdb_note_recv *note)
{
	struct known *one = malloc(sizeof(*one)), **bucket = &ahead.buckets[note->order % BUCKETS];
	forget(bucket);
	if (!one)
		rdb_fatal("out of memory");
	*one = (struct known){.next = *bucket, .fate = fate, .note = *note};
	*bucket = one;
}

static enum rdb_fate take(uint64_t order, struct rdb_note_recv *out)
{
	struct known **at = &ahead.buckets[order % BUCKETS], *one;
	while (*at && (*at)->note.order != order)
		at = &(*at)->next;
	one = *at;
	if (!one)
		return RDB_FATE_NONE;
	enum rdb_fate fate = one->fate;
	*out = one->note;
	*at = one->next;
	free(one);
	return fate;
}

static void read_on(const struct log_record *rec)
{
	struct rdb_note_recv note = {0};
	for (const struct log_chunk *c = NULL; (c = log_chunk_next(rec, c));) {
		if (c->addr)
			continue;
		if (c->note == RDB_NOTE_RECV && c->len == sizeof(note)) {
			memcpy(&note, c + 1, sizeof(note));
			learn(RDB_FATE_RECEIVED, &note);
		} else if (c->note == RDB_NOTE_CANCELLED && c->len == sizeof(struct rdb_note_cancelled)) {
			memcpy(&note.order, c + 1, sizeof(note.order));
			if (note.order)
				learn(RDB_FATE_CANCELLED, &note);
		}
	}
}

enum rdb_fate expand_fate(uint64_t order, struct rdb_note_recv *out)
{
	enum rdb_fate fate = take(order, out);
	ahead.asked = order;
	if (!ahead.open) {
		ahead.open = true;
		if (log_reader_open(&ahead.reader, lower.opt.dir))
			rdb_fatal("%s", ahead.reader.error);
	}
	while (fate == RDB_FATE_NONE && !ahead.at_end) {
		const struct log_record *rec = log_reader_next(&ahead.reader);
		ahead.at_end = !rec;
		if (rec && rec->kind == LOG_HYPERCALL)
			read_on(rec);
		if (rec)
			fate = take(order, out);
	}
	return fate;
}

bool expand_comes(uint64_t order, int peer, int tag, uint32_t comm)
{
	for (unsigned i = 0; i < BUCKETS; i++)
		for (const struct known *one = ahead.buckets[i]; one; one = one->next)
			if (one->fate == RDB_FATE_RECEIVED && one->note.order > order && one->note.peer == peer &&
			    one->note.tag == tag && one->note.comm == comm)
				return true;
	return false;
}
