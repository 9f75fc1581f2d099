/* Layout of the memory of a shared window, from the real side to the stub (MPI_Win_allocate_shared). */
#pragma once
#include <stdint.h>

/* Prefix of the names of such files, which are empty when the stub opens them. */
#define WINDOW_FILES "/dev/shm/rdb-window-"

#define WINDOW_NOWHERE UINT64_MAX

struct window_plan {
	uint64_t id;
	uint64_t bytes;  /* of all ranks, in whole pages */
	uint64_t offset; /* of this rank's part, or WINDOW_NOWHERE: its address is NULL */
	char path[64];   /* of the file that all ranks map */
};
