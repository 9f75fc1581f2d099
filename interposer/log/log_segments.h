/* The files of a log: log-N.seg in its directory. */
#pragma once
#include <stdbool.h>

/* The lowest and the highest index above 0 of a segment that is there; 0: there is none. */
void segments_find(int dirfd, unsigned *lowest, unsigned *highest);

/* False: the log ends before it.  A writer that was killed while it made a segment, or makes it just now, leaves room
 * without a whole header. */
bool segment_begun(int dirfd, unsigned index);
