/* Persistent collectives, which are nonblocking ones of a communicator of their own that are begun again and again:
 * so each start is recorded, and brought back in a restart, like any nonblocking collective; over any MPI. */
#ifndef RDB_MPI_PERSISTENT_H
#define RDB_MPI_PERSISTENT_H
#include "stub.h"

/* MPI_Bcast_init and its kin: the call of the nonblocking function INDEX, for later.  KINDS has a letter for each
 * argument: c the communicator, t a datatype, o an operation, S and R arrays of datatypes for sending and receiving. */
int rdb_persistent_init(uint32_t index, uint32_t nargs, const uint64_t *args, const char *kinds, MPI_Comm comm,
			MPI_Request *request, const char *name);
/* Is it one of these? */
int rdb_persistent(MPI_Request request);
int rdb_persistent_start(MPI_Request request);
int rdb_persistent_startall(int count, MPI_Request *requests);
int rdb_persistent_any(int count, const MPI_Request *requests);
int rdb_persistent_free(MPI_Request *request);
/* What is going on of it, or MPI_REQUEST_NULL; another request itself. */
MPI_Request rdb_persistent_inner(MPI_Request request);

/* Around a call that completes requests: these stand in their places meanwhile. */
struct rdb_swap {
	int count;
	MPI_Request *requests, *were;
	size_t bytes;
};
void rdb_swap_in(struct rdb_swap *swap, int count, MPI_Request *requests);
void rdb_swap_out(struct rdb_swap *swap);

/* An operation or datatype that such a request still needs is freed with the last of these: then 1. */
int rdb_persistent_keeps(unsigned class, void *handle);

#endif
