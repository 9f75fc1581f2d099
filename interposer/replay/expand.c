#include "text/traps.h"
#include "replay/expand.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "crossing/boundary.h"
#include "base/crc32c.h"
#include "log/log_reader.h"
#include "replay/payload.h"
#include "replay/replay.h"

static struct {
	struct rdb_note_recv *received; /* of the present record */
	uint32_t *done;
	unsigned received_room, done_room;
	const struct log_record *present;
	struct event asked; /* to which the log has no answer */
	bool unanswered, ending;
} expand;

int expand_begin(void)
{
	int rc = payload_create(lower.opt.dir);
	return rc ? rc : expand_waits_begin();
}

static void failed(uint64_t event, const char *what) __attribute__((noreturn));

static void failed(uint64_t event, const char *what)
{
	rdb_warn("rank %d cannot be expanded, event %lu: %s", lower.opt.rank, (unsigned long)event, what);
	_exit(5);
}

static void told(enum rdb_expand step, const struct event *ev, struct rdb_recorded *recorded)
{
	expand_waits_at(lower.event + (step == RDB_EXPAND_ASKED || step == RDB_EXPAND_UNANSWERED));
	traps_set(false);
	const char *why = host_expand(step, ev->nr, ev->nargs, ev->args, recorded);
	traps_set(true);
	if (why)
		failed(lower.event + (step == RDB_EXPAND_ASKED), why);
}

static void *room(void *array, unsigned *have, unsigned want, size_t size)
{
	if (want < *have)
		return array;
	*have = *have ? *have * 2 : 64;
	void *p = realloc(array, *have * size);
	if (!p)
		rdb_fatal("out of memory");
	return p;
}

/* The messages that a record names. */
static struct rdb_recorded recorded(const struct log_record *rec)
{
	struct rdb_recorded all = {.result = rec->result};
	for (const struct log_chunk *c = NULL; (c = log_chunk_next(rec, c));) {
		if (!c->addr && c->note == RDB_NOTE_RECV && c->len == sizeof(struct rdb_note_recv)) {
			expand.received = room(expand.received, &expand.received_room, all.nreceived,
					       sizeof(*expand.received));
			memcpy(&expand.received[all.nreceived++], c + 1, c->len);
		} else if (!c->addr && c->note == RDB_NOTE_DONE && c->len == sizeof(uint32_t)) {
			expand.done = room(expand.done, &expand.done_room, all.ndone, sizeof(*expand.done));
			memcpy(&expand.done[all.ndone++], c + 1, c->len);
		}
	}
	all.received = expand.received;
	all.done = expand.done;
	return all;
}

/* Objects that were made again get the handles that the program knows. */
static void compare(const struct event *ev, const struct log_record *rec)
{
	for (const struct log_chunk *c = NULL; (c = log_chunk_next(rec, c));) {
		for (uint32_t at = 0; c->addr && c->len % 8 == 0 && at < c->len; at += 8) {
			uint64_t two[2];
			memcpy(&two[0], (const void *)(c->addr + at), 8);
			memcpy(&two[1], (const uint8_t *)(c + 1) + at, 8);
			if (two[0] == two[1])
				continue;
			const char *why = host_expand(RDB_EXPAND_RENAMED, ev->nr, 2, two, NULL);
			if (why)
				failed(rec->event, why);
		}
	}
}

static bool of_library(const struct event *ev)
{
	return ev->nr >> 16 != RDB_NS_CORE;
}

void expand_asked(const struct event *ev)
{
	const struct log_record *rec = replay_next_record();
	if (!of_library(ev))
		return;
	if (!rec || rec->kind == LOG_END) {
		expand.asked = *ev;
		expand.unanswered = true;
		return;
	}
	if (rec->kind != LOG_HYPERCALL || rec->nr != ev->nr || rec->nargs != ev->nargs ||
	    memcmp(log_args(rec), ev->args, 8ul * ev->nargs))
		return; /* the replay says what is wrong */
	struct rdb_recorded what = recorded(rec);
	expand.present = rec;
	told(RDB_EXPAND_ASKED, ev, &what);
	if (what.made)
		compare(ev, rec);
}

/* Does memory in [from, to) agree with the log's BYTES for [addr, addr + len)? */
static bool same(uint64_t addr, const uint8_t *bytes, uint64_t len, uint64_t from, uint64_t to)
{
	uint64_t first = addr > from ? addr : from, last = addr + len < to ? addr + len : to;
	return first >= last || !memcmp((const void *)first, bytes + (first - addr), last - first);
}

bool expand_agrees(const void *upper, size_t len)
{
	uint64_t from = (uint64_t)upper, to = from + len;
	for (const struct log_chunk *c = NULL; (c = log_chunk_next(expand.present, c));) {
		const struct rdb_note_payload *note = payload_of(c);
		if (note && note->at >= from && note->at + note->len <= to) {
			if (crc32c_data(0, (const void *)note->at, note->len) != note->check)
				return false;
		} else if (c->addr && !same(c->addr, (const uint8_t *)(c + 1), c->len, from, to)) {
			return false;
		}
	}
	return true;
}

static void keep(const struct event *ev, const struct rdb_note_payload *note)
{
	char text[256];
	int rc = payload_append(note);
	if (rc == -EBADMSG)
		snprintf(text, sizeof(text),
			 "the %u bytes received at %#lx differ from the recording: the program does not repeat its "
			 "run exactly, so record it with --record=full",
			 note->len, (unsigned long)note->at);
	else if (rc)
		snprintf(text, sizeof(text), "the payload cannot be written: %s", strerror(-rc));
	if (rc)
		failed(lower.event, text);
	(void)ev;
}

void expand_answered(const struct event *ev)
{
	const struct log_record *rec = replay_record();
	if (!of_library(ev) || !rec)
		return;
	struct rdb_recorded what = recorded(rec);
	expand.present = rec;
	told(RDB_EXPAND_ANSWERED, ev, &what);
	for (const struct log_chunk *c = NULL; (c = log_chunk_next(rec, c));) {
		const struct rdb_note_payload *note = payload_of(c);
		if (note)
			keep(ev, note);
	}
}

void expand_whole(void)
{
	int rc = payload_publish();
	if (rc)
		failed(lower.event, strerror(-rc));
}

void expand_end(const char *what)
{
	const struct event last = {.nr = RDB_NS_MPI << 16};
	struct rdb_recorded none = {0};
	if (what)
		failed(lower.event, what);
	expand_whole();
	expand_waits_ended(expand.unanswered);
	if (expand.unanswered) {
		told(RDB_EXPAND_UNANSWERED, &expand.asked, &none);
		expand_waits_ended(false);
	}
	told(RDB_EXPAND_END, &last, &none);
	_exit(0);
}
