/* Copying a segment that grows on another host and is read here.  For rdb.agents, as part of librdblog.so. */
#pragma once
#include <stdint.h>
#include "log/log_reader.h"

/* Where its records end just now: offset of the first length that is not there yet, or the size of the file; or
 * -errno.  Records before it are whole, and only the count of the last record can still grow. */
LOG_API int64_t log_end(const char *path);

/* Makes `path` equal to `newer`, a later copy of the same segment to which no process writes: record by record, the
 * length of each last, as its writer did.  0 or -errno. */
LOG_API int log_grow(const char *path, const char *newer);
