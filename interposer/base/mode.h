/* What a process of rdb-exec does: record, pass, coordinate, replay for --verify, make payloads again, be a replica, restart.
 * One constant table says all of it, so it may be asked wherever a signal comes; mode_switch() is all that changes it. */
#ifndef RDB_MODE_H
#define RDB_MODE_H
#include <stdbool.h>

struct mode {
	bool records;     /* the world answers, the log listens */
	bool passes;      /* the world answers, nothing is logged (--record=off, or the disk is full) */
	bool coordinates; /* nothing is logged, but there are checkpoints (restart/coordinated.h) */
	bool replays;     /* the log answers */
	bool serves;      /* and the agent stops us; if not: hashes are compared */
	bool expands;     /* and payloads of messages are made again (replay/expand.h) */
	bool restarts;    /* and the program goes on live at the cut (restart/live.h) */
};

extern const struct mode mode_record, mode_pass, mode_coordinated, mode_verify, mode_expand, mode_replica, mode_restart;

#endif
