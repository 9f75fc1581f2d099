/* Persistent collectives.  Each start begins a nonblocking collective on a communicator of their own.  So starts are
 * recorded and restarted like nonblocking collectives, and they work over any MPI. */
#pragma once
#include "stub.h"

/* MPI_Bcast_init etc.: keeps the arguments for a call of the nonblocking function `index`.  kinds has a letter for each
 * argument: c communicator, t datatype, o operation, r request, S and R arrays of datatypes for sending and
 * receiving. */
int rdb_persistent_init(uint32_t index, uint32_t nargs, const uint64_t *args, const char *kinds, MPI_Comm comm,
			MPI_Request *request, const char *name);
/* Whether the request is a persistent collective. */
int rdb_persistent(MPI_Request request);
int rdb_persistent_start(MPI_Request request);
int rdb_persistent_startall(int count, MPI_Request *requests);
int rdb_persistent_any(int count, const MPI_Request *requests);
int rdb_persistent_free(MPI_Request *request);
/* The nonblocking collective that was started, or MPI_REQUEST_NULL.  For another request: the request itself. */
MPI_Request rdb_persistent_inner(MPI_Request request);

/* Around a call that completes requests: replaces persistent collectives by their inner requests, and back. */
struct rdb_swap {
	int count;
	MPI_Request *requests, *were;
	size_t bytes;
};
void rdb_swap_in(struct rdb_swap *swap, int count, MPI_Request *requests);
void rdb_swap_out(struct rdb_swap *swap);

/* The program frees an operation or datatype.  1: a persistent collective needs it, so it is freed later. */
int rdb_persistent_keeps(unsigned class, void *handle);
