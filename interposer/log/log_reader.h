/* Reading a log (log_format.h): used by replicas and, as librdblog.so, by rdb.recording. */
#ifndef RDB_LOG_READER_H
#define RDB_LOG_READER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "log/log_format.h"

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
	size_t cycle; /* of the one that is being given, or 0; which of its events is next */
	uint32_t turns;
	bool counted; /* the number of the next event is known: of the event after `last`, else next_event */
	const struct log_record *last;
	uint64_t next_event;
	size_t checked_end;                                 /* nothing follows the end found there */
	size_t models[LOG_MODELS];                          /* where models were found to be whole; 0: none */
	uint64_t expanded[LOG_EXPANDED][LOG_MODEL_MAX / 8]; /* what short records stand for */
	unsigned turn;
	char error[256]; /* why log_reader_next() gave NULL; empty at the end of the log */
};

/* One record, as the index of a whole log gives it. */
struct log_entry {
	uint64_t event;
	int64_t result;
	uint64_t at_ns;
	uint64_t offset; /* of the record in its segment */
	uint32_t segment;
	uint32_t size; /* that it takes there */
	uint32_t nr;
	uint32_t repeat;
	uint16_t kind;
	uint16_t nargs;
	uint32_t thread;
};

/* 0 or -errno (also -EBADMSG for a foreign file, -EPROTO for another version; error says which). */
LOG_API int log_reader_open(struct log_reader *r, const char *dir);
LOG_API void log_reader_close(struct log_reader *r);

/* The next record, or NULL: at the end (error empty) or at damage (error says file, offset and what
 * was expected).  The record stays valid until the reader moves to another segment, or has given LOG_EXPANDED more. */
LOG_API const struct log_record *log_reader_next(struct log_reader *r);

/* Continues at a place taken from another reader of the same log (segment, off). */
LOG_API int log_reader_seek(struct log_reader *r, unsigned segment, size_t off);

/* Index of a whole log: *entries is malloc'ed.  Returns 0, or -errno with *entries holding what came
 * before the damage and error (at least 256 bytes) the message. */
LOG_API int log_index(const char *dir, struct log_entry **entries, size_t *count, char *error);
/* The same of the first record and of the last two segments only: what a log is and how it ended, at a
 * cost that does not grow with the log.  Damage in between goes unnoticed. */
LOG_API int log_index_tail(const char *dir, struct log_entry **entries, size_t *count, char *error);
LOG_API void log_index_free(struct log_entry *entries);

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

#endif
