/* What stays of the segments of a log that are dropped (--keep). */
#ifndef RDB_LOG_HEAD_H
#define RDB_LOG_HEAD_H
#include <stdint.h>

/* Puts in the place of segment 0 one that holds META and FILE records alone; `first_event`, of the oldest
 * image that is kept, is in its header, and is not 0.  0 or -errno. */
int log_head_write(uint64_t first_event);

#endif
