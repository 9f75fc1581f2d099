/* The index of a log: used, as librdblog.so, by rdb.recording. */
#ifndef RDB_LOG_INDEX_H
#define RDB_LOG_INDEX_H
#include "log/log_reader.h"

/* Of a log_entry: the turns of a cycle (log_format.h).  Their records are those of the `nargs` entries before it in turn,
 * with the numbers from `event` on, `repeat` more of them, and its time; offset and size are of the struct log_cycle. */
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
	uint64_t place; /* in the log, where each turn is one */
};

/* Index of a whole log: *entries is malloc'ed.  Returns 0, or -errno with *entries holding what came
 * before the damage and error (at least 256 bytes) the message. */
LOG_API int log_index(const char *dir, struct log_entry **entries, size_t *count, char *error);
/* The same of the first record and of the last two segments only: what a log is and how it ended, at a
 * cost that does not grow with the log.  Damage in between goes unnoticed. */
LOG_API int log_index_tail(const char *dir, struct log_entry **entries, size_t *count, char *error);
/* The same, of the whole log or (tail) of so many segments at its end, for one that is read on later: *place is where it
 * ends, and *room how many entries there is room for. */
LOG_API int log_index_begin(const char *dir, unsigned tail, struct log_place *place, struct log_entry **entries,
			    size_t *count, size_t *room, char *error);
/* What has come since: entries[*count] and on, as far as there is room (-ENOSPC: there is more), and how often the last
 * one is repeated by now.  0 or -errno: it is to be read anew. */
LOG_API int log_index_more(const char *dir, struct log_place *place, struct log_entry *entries, size_t *count,
			   size_t room, char *error);
/* A copy with more room, or NULL. */
LOG_API struct log_entry *log_index_copy(const struct log_entry *entries, size_t count, size_t room);
LOG_API void log_index_free(struct log_entry *entries);

/* The fields of struct log_entry and struct log_place, up to one without a name: who reads them without this header looks
 * whether it knows the same ones. */
struct log_field {
	const char *name; /* log_entry.event */
	size_t offset, size;
};
LOG_API const struct log_field *log_index_fields(void);

#endif
