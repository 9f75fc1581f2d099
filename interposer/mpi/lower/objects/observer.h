/* Functions that are called for what the program does in MPI, if there are coordinated checkpoints
 * (checkpoint/coordinated.h). */
#pragma once
#include "lower/objects/real.h"

struct vfile;
struct vwin;

struct observer {
	/* Waits until `complete` returns true; checkpoints may be taken meanwhile. */
	void (*until)(bool (*complete)(void *), void *arg);
	/* Waits for a request; sending: a message that this rank has not counted yet, but its receiver may have. */
	int (*wait)(MPI_Request *real, MPI_Status *status, bool sending);
	void (*sent)(void);
	void (*received)(void);
	void (*comm_made)(struct vcomm *comm);
	/* Frees a communicator of several ranks, without waiting for them. */
	int (*comm_free)(uint64_t name, MPI_Comm comm);
	void (*comm_freed)(uint64_t name);
	/* A new name for an object that all ranks of this communicator have just made. */
	uint64_t (*comm_name)(const struct vcomm *comm);
	void (*file_made)(struct vfile *file, const struct vcomm *comm);
	void (*file_closed)(struct vfile *file);
	void (*window_made)(struct vwin *win, const struct vcomm *comm);
	void (*window_gone)(struct vwin *win);
};
