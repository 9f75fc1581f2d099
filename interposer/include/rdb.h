/* What a program may ask rdb for.  It needs no library, and does nothing where rdb is not. */
#ifndef RDB_H
#define RDB_H
#include <sys/prctl.h>

#define RDB_PRCTL_CHECKPOINT 0x72646263

/* A checkpoint of this process or, if it is a rank of a job that runs with --record=off, of all its ranks, soon after
 * this call.  One rank asks for all.  0; -1: not below rdb. */
static inline int rdb_checkpoint(void)
{
	return prctl(RDB_PRCTL_CHECKPOINT, 0, 0, 0, 0);
}

#endif
