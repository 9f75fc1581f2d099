/* What of windows goes where at a call, if comparing is dear: to others before
 * what they may be told by it, and from them after what they may have told.
 * Calls that are not in the table do both. */
#ifndef RDB_MPI_WINDOW_WAYS_H
#define RDB_MPI_WINDOW_WAYS_H

enum window_way { WINDOW_OUT = 1, WINDOW_IN = 2 };

/* Of these, for the call of that index. */
unsigned window_way(unsigned index);

#endif
