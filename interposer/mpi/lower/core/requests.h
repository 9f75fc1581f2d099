/* Requests: declarations that the files of this folder share, and restarts use. */
#pragma once
#include "lower/objects/real.h"

static inline struct vreq *request_at(void **upper)
{
	return request_of(upper ? rdb_id(RDB_REQUEST, *upper) : 0);
}

static inline struct vcomm *request_comm(const struct vreq *request)
{
	return request->comm ? request->comm : comm_of(0);
}

/* The real request is complete: delivers its data, if that has not been done, and makes it inactive. */
void request_complete(struct vreq *request, const MPI_Status *status);
/* Delivers the data of a complete request, which stays active (MPI_Request_get_status). */
void request_peek(struct vreq *request, const MPI_Status *status);

/* Copies the data to the program; the receive is noted as complete when the program completes the request. */
void request_early(struct vreq *request, const MPI_Status *status);

/* early.c: whether the real request is complete; can be asked repeatedly. */
bool request_ended(struct vreq *request, MPI_Status *status);

/* early.c: to be called after each call, and before MPI_Finalize. */
void early_after(unsigned index);
void early_end(void);

/* partitioned.c: notes for restarts that a partitioned request was started, completed or freed. */
void partitioned_note(const struct vreq *request, const char *what);
/* After a restart over Open MPI 5: called when the program starts a request, and before each call while
 * partitioned_watched. */
void partitioned_started(struct vreq *request);
void partitioned_before(unsigned index);
extern bool partitioned_watched, partitioned_restarted;

/* In a restart: posts a receive under its earlier id; `message`: of this matched message.  0 or an MPI error. */
int request_receive_again(uint32_t id, void *buf, int count, struct vtype *type, int source, int tag,
			  struct vcomm *comm, MPI_Message *message);

/* In a restart from a checkpoint: posts a receive, or makes a persistent one without starting it. */
int request_again(uint32_t id, void *buf, int count, struct vtype *type, int source, int tag, struct vcomm *comm,
		  bool persistent);

/* generalized.c: starts a generalized request under this id; args: those of MPI_Grequest_start.  0 or an MPI error. */
int generalized_again(uint32_t id, const uint64_t *args, bool complete);

/* drained.c: makes a real request that is complete, with this status and error (of the program's wait). */
int request_done(int source, int tag, int64_t bytes, bool cancelled, int error, MPI_Request *real);
bool requests_have_orphans(void);

/* exchange_sent.c: whether the MPI_Sendrecv of the calling thread has sent. */
bool exchange_sent(void);
void exchange_sends(bool sent);
