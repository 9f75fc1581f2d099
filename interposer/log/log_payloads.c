/* Finds the messages that --record=lean left to the recordings of their senders. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "interface/host.h"
#include "log/log_messages.h"

struct list {
	struct log_payload *items;
	size_t count, cap;
	size_t named; /* of these the message is known: its note follows */
	uint64_t sends;
};

static int add(struct list *list, struct log_payload one)
{
	if (list->count == list->cap) {
		size_t cap = list->cap ? 2 * list->cap : 256;
		struct log_payload *grown = realloc(list->items, cap * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		list->items = grown;
		list->cap = cap;
	}
	list->items[list->count++] = one;
	return 0;
}

static int add_note(struct list *list, const struct log_reader *r, const struct log_chunk *c, uint64_t event)
{
	struct log_payload one = {.event = event, .segment = r->segment};
	struct rdb_note_payload payload;
	struct rdb_note_recv note;
	if (c->note == RDB_NOTE_PAYLOAD && c->len >= sizeof(payload)) {
		memcpy(&payload, c + 1, sizeof(payload));
		one.at = payload.at;
		one.offset = payload.offset;
		one.len = payload.len;
		one.check = payload.check;
		return add(list, one);
	}
	if (c->note == RDB_NOTE_KEPT) {
		one.offset = (uint64_t)((const uint8_t *)(c + 1) - r->base);
		one.order = list->sends;
		one.len = c->len;
		return add(list, one);
	}
	if (c->note == RDB_NOTE_SEND)
		list->sends++;
	if ((c->note != RDB_NOTE_RECV && c->note != RDB_NOTE_EARLY && c->note != RDB_NOTE_SEND) ||
	    c->len < sizeof(note))
		return 0;
	memcpy(&note, c + 1, sizeof(note));
	for (; list->named < list->count; list->named++) {
		struct log_payload *last = &list->items[list->named];
		if (!last->at)
			continue;
		last->peer = note.peer;
		last->tag = note.tag;
		last->comm = note.comm;
		last->order = note.order;
	}
	return 0;
}

static int add_event(struct list *list, const struct log_reader *r, const struct log_record *rec, uint64_t event)
{
	int rc = 0;
	for (const struct log_chunk *c = NULL; !rc && (c = log_chunk_next(rec, c));)
		if (!c->addr)
			rc = add_note(list, r, c, event);
	return rc;
}

int log_payloads(const char *dir, struct log_payload **found, size_t *count, char *error)
{
	struct log_reader r;
	struct list list = {0};
	const struct log_record *rec;
	unsigned silent = 0;
	*found = NULL;
	*count = 0;
	int rc = log_reader_open(&r, dir);
	if (rc) {
		memcpy(error, r.error, sizeof(r.error));
		return rc;
	}
	while (!rc && (rec = log_reader_next(&r))) {
		const uint64_t before = list.count + list.sends;
		for (uint64_t i = 0; rec->kind == LOG_HYPERCALL && !rc && i <= rec->repeat; i++) {
			const uint64_t count_before = list.count + list.sends;
			rc = add_event(&list, &r, rec, rec->event + i);
			if (list.count + list.sends == count_before)
				break; /* the other repetitions have none either */
		}
		log_reader_pass_silent(&r, list.count + list.sends == before, &silent);
	}
	rc = log_reader_end(&r, rc, error);
	*found = list.items;
	*count = list.count;
	return rc;
}

void log_payloads_free(struct log_payload *found)
{
	free(found);
}
