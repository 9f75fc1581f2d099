/* What a program may ask of rdb.  Needs no library, and does nothing when the program does not run under rdb. */
#ifndef RDB_H
#define RDB_H
#include <sys/prctl.h>

#define RDB_PRCTL_CHECKPOINT 0x72646263

/* Asks for a checkpoint soon after this call: of this process or, for a rank of a job with --record=off, of all its
 * ranks (one rank asks for all). 0; -1: not under rdb. */
static inline int rdb_checkpoint(void)
{
	return prctl(RDB_PRCTL_CHECKPOINT, 0, 0, 0, 0);
}

#endif
