/* Between requests.c and completion.c. */
#ifndef RDB_MPI_REQUESTS_H
#define RDB_MPI_REQUESTS_H
#include "real.h"

static inline struct vreq *request_at(void **upper)
{
	return request_of(upper ? rdb_id(RDB_REQUEST, *upper) : 0);
}

static inline struct vcomm *request_comm(const struct vreq *request)
{
	return request->comm ? request->comm : comm_of(0);
}

/* The real request is complete: its bytes reach the program, if they have not already. */
void request_complete(struct vreq *request, const MPI_Status *status);
/* The same for MPI_Request_get_status: the request stays. */
void request_peek(struct vreq *request, const MPI_Status *status);

/* Its bytes alone reach the program; it is complete later. */
void request_early(struct vreq *request, const MPI_Status *status);

/* early.c: asks the real MPI, and where that is complete says so as often as it is asked. */
bool request_ended(struct vreq *request, MPI_Status *status);

/* early.c: after a call, and before MPI_Finalize. */
void early_after(unsigned index);
void early_end(void);

/* partitioned.c: a partitioned request is started, complete or freed, for who restarts from the log. */
void partitioned_note(const struct vreq *request, const char *what);
/* After a restart over Open MPI 5: the program starts a request, and makes any call while partitioned_watched. */
void partitioned_started(struct vreq *request);
void partitioned_before(unsigned index);
extern bool partitioned_watched, partitioned_restarted;

/* A restart: posts a receive under the number that it had, of `message` if it was matched.  0 or an MPI error. */
int request_receive_again(uint32_t id, void *buf, int count, struct vtype *type, int source, int tag,
			  struct vcomm *comm, MPI_Message *message);

/* The same of a request of a checkpoint, which may be a persistent one (not started). */
int request_again(uint32_t id, void *buf, int count, struct vtype *type, int source, int tag, struct vcomm *comm,
		  bool persistent);

#endif
