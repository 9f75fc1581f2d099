/* How the memory of a shared window is laid out: what the real side tells the stub (MPI_Win_allocate_shared). */
#ifndef RDB_MPI_WINDOW_PLAN_H
#define RDB_MPI_WINDOW_PLAN_H
#include <stdint.h>

/* How the names of such files begin; they hold nothing when the stub opens them. */
#define WINDOW_FILES "/dev/shm/rdb-window-"

struct window_plan {
	uint64_t id;
	uint64_t bytes;  /* of all ranks, in whole pages */
	uint64_t offset; /* where this rank's part begins */
	char path[64];   /* of the file that all map */
};

#endif
