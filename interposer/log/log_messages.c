#include "log/log_messages.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "interface/host.h"

struct list {
	struct log_message *items;
	size_t count, cap;
};

static int add(struct list *list, const struct log_message *one)
{
	if (list->count == list->cap) {
		size_t cap = list->cap ? 2 * list->cap : 1024;
		struct log_message *grown = realloc(list->items, cap * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		list->items = grown;
		list->cap = cap;
	}
	list->items[list->count++] = *one;
	return 0;
}

/* The id in the handle that the event stored at `address`; 0: none. */
static uint32_t handle_put(const struct log_record *rec, uint64_t address)
{
	for (const struct log_chunk *c = NULL; (c = log_chunk_next(rec, c));)
		if (c->addr <= address && c->addr && address + 8 <= c->addr + c->len) {
			uint64_t handle;
			memcpy(&handle, (const char *)(c + 1) + (address - c->addr), sizeof(handle));
			return (uint32_t)handle;
		}
	return 0;
}

static uint64_t arg(const struct log_record *rec, int place)
{
	return place >= 0 && place < rec->nargs ? log_args(rec)[place] : 0;
}

static int add_call(struct list *list, const struct log_record *rec, const struct log_wanted *w, struct log_message one)
{
	one.what = w->what;
	one.comm = (uint32_t)arg(rec, w->comm);
	one.peer = (int32_t)arg(rec, w->peer);
	one.tag = (int32_t)arg(rec, w->tag);
	one.bytes = arg(rec, w->size);
	if (w->request >= 0)
		one.request = handle_put(rec, arg(rec, w->request));
	if (w->what == LOG_MESSAGE_MATCHED && !one.request)
		return 0; /* there was none */
	return add(list, &one);
}

static int add_note(struct list *list, const struct log_reader *r, const struct log_chunk *c, struct log_message one)
{
	struct rdb_note_recv note;
	if (c->note == RDB_NOTE_TEXT) {
		one.what = LOG_MESSAGE_TEXT;
		one.order = r->segment;
		one.address = (uint64_t)((const uint8_t *)(c + 1) - r->base);
		one.bytes = c->len;
		return add(list, &one);
	}
	if ((c->note == RDB_NOTE_DONE || c->note == RDB_NOTE_STARTED || c->note == RDB_NOTE_FREED) &&
	    c->len >= sizeof(one.request)) {
		one.what = c->note == RDB_NOTE_DONE    ? LOG_MESSAGE_DONE
			   : c->note == RDB_NOTE_FREED ? LOG_MESSAGE_FREED
						       : LOG_MESSAGE_STARTED;
		memcpy(&one.request, c + 1, sizeof(one.request));
		return add(list, &one);
	}
	if (c->note == RDB_NOTE_CANCELLED && c->len >= sizeof(struct rdb_note_cancelled)) {
		const struct rdb_note_cancelled *cancelled = (const void *)(c + 1);
		one.what = LOG_MESSAGE_CANCELLED;
		one.order = cancelled->order;
		one.request = (uint32_t)cancelled->request;
		return add(list, &one);
	}
	if ((c->note != RDB_NOTE_RECV && c->note != RDB_NOTE_SEND && c->note != RDB_NOTE_PROBED) ||
	    c->len < sizeof(note))
		return 0;
	memcpy(&note, c + 1, sizeof(note));
	one.what = c->note == RDB_NOTE_RECV   ? LOG_MESSAGE_RECV
		   : c->note == RDB_NOTE_SEND ? LOG_MESSAGE_SEND
					      : LOG_MESSAGE_PROBED;
	one.peer = note.peer;
	one.tag = note.tag;
	one.comm = note.comm;
	one.request = note.request;
	one.bytes = note.bytes;
	one.order = note.order;
	one.address = note.from;
	return add(list, &one);
}

static int add_event(struct list *list, const struct log_reader *r, const struct log_record *rec, uint64_t event,
		     const struct log_wanted *w)
{
	struct log_message one = {.event = event, .at_ns = rec->at_ns, .nr = rec->nr};
	int rc = 0;
	if (w && w->what && rec->result == 0)
		rc = add_call(list, rec, w, one);
	for (const struct log_chunk *c = NULL; !rc && (c = log_chunk_next(rec, c));)
		if (!c->addr)
			rc = add_note(list, r, c, one);
	return rc;
}

int log_messages(const char *dir, uint32_t name_space, const struct log_wanted *wanted, size_t wanted_count,
		 struct log_message **found, size_t *count, char *error)
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
		uint32_t number = rec->nr & 0xffff;
		const size_t before = list.count;
		const bool here = rec->kind == LOG_HYPERCALL && rec->nr >> 16 == name_space;
		for (uint64_t i = 0; here && !rc && i <= rec->repeat; i++) {
			size_t count_before = list.count;
			rc = add_event(&list, &r, rec, rec->event + i, number < wanted_count ? &wanted[number] : NULL);
			if (list.count == count_before)
				break; /* the other repetitions have none either */
		}
		log_reader_pass_silent(&r, list.count == before, &silent);
	}
	rc = log_reader_end(&r, rc, error);
	*found = list.items;
	*count = list.count;
	return rc;
}

void log_messages_free(struct log_message *found)
{
	free(found);
}
