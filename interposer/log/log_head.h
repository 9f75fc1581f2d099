/* What stays of the segments of a log that are dropped (--keep). */
#pragma once
#include <stdint.h>

/* Replaces segment 0 by one that holds META and FILE records alone.  Its header has `first_event`, the event of the
 * oldest image that is kept, which is not 0.  0 or -errno. */
int log_head_write(uint64_t first_event);
