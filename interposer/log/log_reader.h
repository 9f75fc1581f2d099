/* Reading a log (log_format.h): used by replicas and, as librdblog.so, by rdb.recording. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "interface/log_format.h"

#define LOG_API __attribute__((visibility("default")))

enum { LOG_MODELS = 16, LOG_EXPANDED = 8 };

struct log_reader {
	int dirfd, fd; /* fd: of the segment */
	unsigned segment;
	const uint8_t *base; /* mapped segment, NULL before the first */
	size_t len;
	const uint8_t *before; /* the segment before it stays mapped, too */
	size_t before_len;
	size_t off; /* of the next record in the segment */
	size_t at;  /* of the record that was given last, and the bytes that it takes there */
	size_t bytes;
	size_t cycle; /* offset of the present cycle, or 0; turns: its next event */
	uint32_t turns;
	bool counted; /* the number of the next event is known: that after `last`, else next_event */
	const struct log_record *last;
	uint64_t next_event;
	size_t checked_end;                                 /* nothing follows the end found there */
	size_t models[LOG_MODELS];                          /* offsets at which models were found whole; 0: none */
	uint64_t expanded[LOG_EXPANDED][LOG_MODEL_MAX / 8]; /* what short records stand for */
	unsigned turn;
	char error[256]; /* why log_reader_next() gave NULL; empty at the end of the log */
};

/* 0 or -errno (also -EBADMSG for a foreign file, -EPROTO for another version; error says which). */
LOG_API int log_reader_open(struct log_reader *r, const char *dir);
LOG_API void log_reader_close(struct log_reader *r);
/* Closes it after a walk that ended with rc (0 or -errno).  ERROR, as large as r->error, gets what was wrong, which
 * without an rc is -EBADMSG. */
int log_reader_end(struct log_reader *r, int rc, char *error);

/* The next record, or NULL: at the end (error empty) or at damage (error says file, offset and what
 * was expected).  The record stays valid until the reader moves to another segment, or has given LOG_EXPANDED more. */
LOG_API const struct log_record *log_reader_next(struct log_reader *r);

/* Passes over the turns of the present cycle that are there, and returns their number.  They equal those before.  The
 * last record given gets the number of the last of them. */
uint32_t log_reader_pass(struct log_reader *r);

/* After each record of a walk; silent: it had nothing of what the walk seeks.  Passes over the other turns of a cycle
 * that has nothing.  *turns counts the silent ones in a row; 0 at first. */
void log_reader_pass_silent(struct log_reader *r, bool silent, unsigned *turns);

/* Expands the short record at `off` of a mapped segment into `out`, which has room for LOG_MODEL_MAX bytes.  Returns the
 * size of the whole record; 0: it is damaged. */
LOG_API size_t log_whole(const uint8_t *segment, size_t len, size_t off, uint64_t *out);

/* Continues at a place taken from another reader of the same log (segment, off). */
LOG_API int log_reader_seek(struct log_reader *r, unsigned segment, size_t off);

/* Where a reader stands at the end of a log that may grow. */
enum log_place_how {
	LOG_PLACE_NONE,
	LOG_PLACE_RECORD,  /* `off` is of the record that it gave last, whose count may grow */
	LOG_PLACE_CYCLE,   /* in a cycle, after so many `turns` */
	LOG_PLACE_SEGMENT, /* at the beginning of a segment */
};

struct log_place {
	uint32_t how, segment;
	uint64_t off, cycle, checked_end, next_event, at_ns;
	uint32_t turns, counted;
};

LOG_API void log_reader_place(const struct log_reader *r, struct log_place *place);
/* A reader that has just been opened goes on from there, and gives only what was not given yet.  With LOG_PLACE_RECORD
 * it has read the last record, at `off`, again.  0 or -errno. */
LOG_API int log_reader_resume(struct log_reader *r, const struct log_place *place);

static inline const uint64_t *log_args(const struct log_record *rec)
{
	return (const uint64_t *)(rec + 1);
}

/* Iterates the chunks of a record: start with NULL; NULL at the end. */
static inline const struct log_chunk *log_chunk_next(const struct log_record *rec, const struct log_chunk *c)
{
	const uint8_t *end = (const uint8_t *)rec + rec->size;
	const uint8_t *p = c ? (const uint8_t *)(c + 1) + (((size_t)c->len + 7) & ~(size_t)7)
			     : (const uint8_t *)(log_args(rec) + rec->nargs);
	if (p + sizeof(struct log_chunk) > end)
		return NULL;
	return (const struct log_chunk *)p;
}

/* The data of its note, or NULL. */
static inline const void *log_note(const struct log_record *rec, uint32_t what, size_t *len)
{
	for (const struct log_chunk *c = NULL; (c = log_chunk_next(rec, c));)
		if (!c->addr && c->note == what) {
			*len = c->len;
			return c + 1;
		}
	return NULL;
}
