/* An end to a replay that does not go on: `--verify` has nobody who would interrupt it. */
#ifndef RDB_PATIENCE_H
#define RDB_PATIENCE_H

/* --verify: from here on a program that makes no event for far longer than it did while it was recorded has diverged.
 * In processor time, so that other load does not count. */
void patience_begin(void);

#endif
