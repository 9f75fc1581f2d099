/* The index of a log: used, as librdblog.so, by rdb.recording. */
#pragma once
#include "log/log_reader.h"

/* Kind of a log_entry that stands for the turns of a cycle (log_format.h).  Its records are those of the `nargs`
 * entries before it, in turn, numbered from `event` on, `repeat` more after the first, with this entry's time.  offset
 * and size are those of the struct log_cycle. */
enum { LOG_ENTRY_TURNS = 0x8000 };

/* One record, as the index of a whole log gives it, or LOG_ENTRY_TURNS. */
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
	uint64_t place; /* place in the log, counting each turn */
};

/* Index of a whole log: *entries is malloc'ed.  Returns 0, or -errno with *entries holding what came
 * before the damage and error (at least 256 bytes) the message. */
LOG_API int log_index(const char *dir, struct log_entry **entries, size_t *count, char *error);
/* The same of the first record and of the last two segments only: what a log is and how it ended, at a
 * cost that does not grow with the log.  Damage in between goes unnoticed. */
LOG_API int log_index_tail(const char *dir, struct log_entry **entries, size_t *count, char *error);
/* The same for a log that will be read on: the whole log, or its last `tail` segments.  *place: where it ends; *room:
 * the number of entries that fit. */
LOG_API int log_index_begin(const char *dir, unsigned tail, struct log_place *place, struct log_entry **entries,
			    size_t *count, size_t *room, char *error);
/* Adds what has come since, from entries[*count] on, as far as there is room (-ENOSPC: there is more), and updates the
 * repeat count of the last one.  0 or -errno: the log has to be read anew. */
LOG_API int log_index_more(const char *dir, struct log_place *place, struct log_entry *entries, size_t *count,
			   size_t room, char *error);
/* A copy with more room, or NULL. */
LOG_API struct log_entry *log_index_copy(const struct log_entry *entries, size_t count, size_t room);
LOG_API void log_index_free(struct log_entry *entries);

/* The fields of struct log_entry and struct log_place, up to one without a name: a reader without this header checks
 * that it knows the same ones. */
struct log_field {
	const char *name; /* log_entry.event */
	size_t offset, size;
};
LOG_API const struct log_field *log_index_fields(void);
