#include "log/log_rows.h"
#include <errno.h>
#include <string.h>
#include "interface/host.h"

static bool is_message(const struct log_chunk *c)
{
	return !c->addr && (c->note == RDB_NOTE_RECV || c->note == RDB_NOTE_SEND) &&
	       c->len >= sizeof(struct rdb_note_recv);
}

/* The next message of a record; NULL: there is none. */
static const struct log_chunk *next_message(const struct log_record *rec, const struct log_chunk *c)
{
	while ((c = log_chunk_next(rec, c)) && !is_message(c))
		;
	return c;
}

static uint64_t of_message(const struct log_chunk *c, uint8_t column)
{
	struct rdb_note_recv note;
	if (!c)
		return 0;
	memcpy(&note, c + 1, sizeof(note));
	switch (column) {
	case LOG_ROW_NOTE: return c->note;
	case LOG_ROW_PEER: return (uint64_t)note.peer;
	case LOG_ROW_TAG: return (uint64_t)note.tag;
	default: return note.bytes;
	}
}

static uint64_t of_entry(const struct log_entry *e, uint64_t number, uint8_t column)
{
	switch (column) {
	case LOG_ROW_NUMBER: return number;
	case LOG_ROW_EVENT: return e->event;
	case LOG_ROW_RESULT: return (uint64_t)e->result;
	case LOG_ROW_AT_NS: return e->at_ns;
	case LOG_ROW_REPEAT: return e->repeat;
	default: return e->thread;
	}
}

/* The record of an entry.  The entries ascend, so mostly it is the next one. */
static const struct log_record *record_of(struct log_reader *r, const struct log_entry *e)
{
	if ((r->segment != e->segment || r->off != e->offset || r->cycle) && log_reader_seek(r, e->segment, e->offset))
		return NULL;
	return log_reader_next(r);
}

int log_rows(const char *dir, const struct log_entry *entries, const uint64_t *numbers, size_t count,
	     const uint8_t *columns, size_t width, uint64_t *values, size_t room, size_t *read, size_t *rows)
{
	struct log_reader r;
	bool records = false, messages = false;
	for (size_t c = 0; c < width; c++) {
		messages = messages || columns[c] == LOG_ROW_NOTE;
		records = records || columns[c] < LOG_ROW_NUMBER || columns[c] >= LOG_ROW_TOOK;
	}
	int rc = records ? log_reader_open(&r, dir) : 0;
	if (rc)
		return rc;
	*rows = 0;
	for (; !rc && *read < count; ++*read) {
		const struct log_entry *e = &entries[numbers[*read]];
		const struct log_record *rec = records ? record_of(&r, e) : NULL;
		const size_t before = *rows;
		if (records && !rec)
			rc = -EBADMSG;
		const struct log_chunk *message = !rc && messages ? next_message(rec, NULL) : NULL;
		do {
			if (*rows == room) { /* this record again, the next time */
				*rows = before;
				goto out;
			}
			for (size_t c = 0; !rc && c < width; c++) {
				uint64_t *value = &values[c * room + *rows];
				if (columns[c] >= LOG_ROW_NOTE)
					*value = of_message(message, columns[c]);
				else if (columns[c] == LOG_ROW_TOOK)
					*value = rec->took;
				else if (columns[c] >= LOG_ROW_NUMBER)
					*value = of_entry(e, numbers[*read], columns[c]);
				else if (columns[c] < rec->nargs)
					*value = log_args(rec)[columns[c]];
				else
					rc = -ERANGE;
			}
			++*rows;
			message = message ? next_message(rec, message) : NULL;
		} while (!rc && message);
	}
out:
	if (records)
		log_reader_close(&r);
	return rc;
}
