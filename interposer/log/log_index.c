#include "log/log_index.h"
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "log/log_segments.h"

static struct log_entry entry_of(const struct log_reader *r, const struct log_record *rec)
{
	return (struct log_entry){
		.event = rec->event,
		.result = rec->result,
		.at_ns = rec->at_ns,
		.offset = r->at,
		.segment = r->segment,
		.size = (uint32_t)r->bytes,
		.nr = rec->nr,
		.repeat = rec->repeat,
		.thread = rec->thread,
		.kind = rec->kind,
		.nargs = rec->nargs,
	};
}

/* The record is a turn of a cycle: takes all turns that are there at once. */
static void append_turns(struct log_reader *r, struct log_entry *entries, size_t *count)
{
	struct log_entry *last = &entries[*count - 1];
	if (r->turns > 1) {
		last->repeat += 1 + log_reader_pass(r);
		return;
	}
	const struct log_cycle *c = (const void *)(r->base + r->cycle);
	last[1] = (struct log_entry){
		.event = r->last->event,
		.at_ns = r->last->at_ns,
		.offset = r->cycle,
		.segment = r->segment,
		.size = sizeof(*c),
		.thread = last->thread,
		.kind = LOG_ENTRY_TURNS,
		.nargs = (uint16_t)c->period,
		.place = last->place + 1,
	};
	last[1].repeat = log_reader_pass(r);
	++*count;
}

static void append(struct log_reader *r, const struct log_record *rec, struct log_entry *entries, size_t *count)
{
	struct log_entry *before = *count ? &entries[*count - 1] : NULL;
	if (r->cycle) {
		append_turns(r, entries, count);
		return;
	}
	/* a running program may have raised the count since it was read */
	if (before && LOG_IS_EVENT(rec->kind) && LOG_IS_EVENT(before->kind) && rec->event > before->event)
		before->repeat = (uint32_t)(rec->event - before->event - 1);
	entries[*count] = entry_of(r, rec);
	if (before)
		entries[*count].place = before->place + 1 + (before->kind == LOG_ENTRY_TURNS ? before->repeat : 0);
	++*count;
}

int log_index_begin(const char *dir, unsigned tail, struct log_place *place, struct log_entry **entries, size_t *count,
		    size_t *room, char *error)
{
	struct log_reader r;
	size_t cap = 1024;
	const struct log_record *rec;
	*entries = NULL;
	*count = *room = 0;
	*place = (struct log_place){0};
	int rc = log_reader_open(&r, dir);
	if (rc) {
		memcpy(error, r.error, sizeof(r.error));
		return rc;
	}
	struct log_entry *e = malloc(cap * sizeof(*e));
	while (e && (rec = log_reader_next(&r))) {
		if (*count == cap) {
			struct log_entry *grown = realloc(e, (cap *= 2) * sizeof(*e));
			if (!grown)
				free(e);
			e = grown;
			if (!e)
				break;
		}
		append(&r, rec, e, count);
		if (*count == 1 && tail) {
			unsigned lowest, highest;
			segments_find(r.dirfd, &lowest, &highest);
			if (highest + 1 >= lowest + tail &&
			    (rc = log_reader_seek(&r, highest + 1 - tail, sizeof(struct log_segment_header))))
				break;
		}
	}
	if (!e) {
		*count = 0;
		snprintf(error, 256, "out of memory");
		log_reader_close(&r);
		return -ENOMEM;
	}
	*entries = e;
	*room = cap;
	memcpy(error, r.error, sizeof(r.error));
	if (!rc && !error[0])
		log_reader_place(&r, place);
	log_reader_close(&r);
	if (rc)
		return rc;
	return error[0] ? -EBADMSG : 0;
}

/* Checks the record that was the last one: only its count may have grown. */
static int same_again(const struct log_reader *r, struct log_entry *last)
{
	if (last->segment != r->segment || last->offset != r->at || last->size != r->bytes ||
	    (LOG_IS_EVENT(last->kind) && (!r->last || r->last->event != last->event)))
		return -ESTALE;
	if (r->last && LOG_IS_EVENT(last->kind))
		last->repeat = __atomic_load_n(&r->last->repeat, __ATOMIC_ACQUIRE);
	return 0;
}

int log_index_more(const char *dir, struct log_place *place, struct log_entry *entries, size_t *count, size_t room,
		   char *error)
{
	struct log_reader r;
	const struct log_record *rec = NULL;
	error[0] = 0;
	if (place->how == LOG_PLACE_NONE || !*count)
		return -ESTALE;
	int rc = log_reader_open(&r, dir);
	if (rc)
		return rc;
	rc = log_reader_resume(&r, place);
	if (!rc && place->how == LOG_PLACE_RECORD)
		rc = same_again(&r, &entries[*count - 1]);
	while (!rc && *count < room && (rec = log_reader_next(&r)))
		append(&r, rec, entries, count);
	memcpy(error, r.error, sizeof(r.error));
	if (!rc && error[0])
		rc = -EBADMSG;
	if (!rc)
		log_reader_place(&r, place);
	if (!rc && *count == room)
		rc = -ENOSPC;
	log_reader_close(&r);
	return rc;
}

struct log_entry *log_index_copy(const struct log_entry *entries, size_t count, size_t room)
{
	struct log_entry *copy = malloc(room * sizeof(*copy));
	if (copy)
		memcpy(copy, entries, count * sizeof(*copy));
	return copy;
}

static int index_log(const char *dir, unsigned tail, struct log_entry **entries, size_t *count, char *error)
{
	struct log_place place;
	size_t room;
	return log_index_begin(dir, tail, &place, entries, count, &room, error);
}

int log_index(const char *dir, struct log_entry **entries, size_t *count, char *error)
{
	return index_log(dir, 0, entries, count, error);
}

int log_index_tail(const char *dir, struct log_entry **entries, size_t *count, char *error)
{
	/* two: the newest may have been opened just now and be empty */
	return index_log(dir, 2, entries, count, error);
}

void log_index_free(struct log_entry *entries)
{
	free(entries);
}

#define FIELD(s, f) \
	{ \
#s "." #f, offsetof(struct s, f), sizeof(((struct s *)NULL)->f) \
	}
const struct log_field *log_index_fields(void)
{
	static const struct log_field fields[] = {
		FIELD(log_entry, event),       FIELD(log_entry, result),
		FIELD(log_entry, at_ns),       FIELD(log_entry, offset),
		FIELD(log_entry, segment),     FIELD(log_entry, size),
		FIELD(log_entry, nr),          FIELD(log_entry, repeat),
		FIELD(log_entry, kind),        FIELD(log_entry, nargs),
		FIELD(log_entry, thread),      FIELD(log_entry, place),
		FIELD(log_place, how),         FIELD(log_place, segment),
		FIELD(log_place, off),         FIELD(log_place, cycle),
		FIELD(log_place, checked_end), FIELD(log_place, next_event),
		FIELD(log_place, at_ns),       FIELD(log_place, turns),
		FIELD(log_place, counted),     {NULL, 0, 0},
	};
	return fields;
}
