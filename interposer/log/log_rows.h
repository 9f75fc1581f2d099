/* Values of many records as columns, for queries over events: part of librdblog.so. */
#pragma once
#include "log/log_index.h"

/* What a column holds.  Below LOG_ROW_NUMBER: the argument of that number. */
enum log_column {
	LOG_ROW_NUMBER = 64, /* index of the entry */
	LOG_ROW_EVENT,
	LOG_ROW_RESULT,
	LOG_ROW_AT_NS,
	LOG_ROW_REPEAT,
	LOG_ROW_THREAD,
	LOG_ROW_TOOK, /* as in struct log_record */
	LOG_ROW_NOTE, /* of a message: RDB_NOTE_RECV or RDB_NOTE_SEND; else 0 */
	LOG_ROW_PEER,
	LOG_ROW_TAG,
	LOG_ROW_BYTES,
};

/* Rows of the entries numbers[*read] to numbers[count - 1], in values[column * room + row], as far as there is room;
 * *read and *rows: what was done.  An entry has one row, or, with LOG_ROW_NOTE, one for each message that it received
 * or sent.  No entry may be LOG_ENTRY_TURNS.  0, -ERANGE: a record has not so many arguments, or -errno. */
LOG_API int log_rows(const char *dir, const struct log_entry *entries, const uint64_t *numbers, size_t count,
		     const uint8_t *columns, size_t width, uint64_t *values, size_t room, size_t *read, size_t *rows);
