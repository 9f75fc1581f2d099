/* Has a log grown since it was indexed?  For rdb.recording, as part of librdblog.so; the cost does not depend
 * on the log. */
#pragma once
#include "log/log_index.h"

/* last: the last entry of its index.  1: something may follow it by now, 0: nothing does, or -errno. */
LOG_API int log_grown(const char *dir, const struct log_entry *last);
