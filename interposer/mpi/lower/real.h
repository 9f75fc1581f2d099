/* The real side of MPI: what its files share.  Runs in the lower half, while recording only. */
#ifndef RDB_MPI_LOWER_H
#define RDB_MPI_LOWER_H
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "functions.h"
#include "handles.h"
#include "crossing/host.h"
#include "objects.h"
#include "status.h"
#include "translate.h"

extern const struct rdb_host *host;

struct real_function {
	const char *name;
	int64_t (*call)(const uint64_t *a); /* NULL: not supported yet */
	const char *
		handles; /* for each argument: the first letter of its handle's class, * for a pointer that is no buffer, or . */
	void (*sent)(const uint64_t *a); /* says what the call reads (sent.h); NULL: nothing */
};

struct predefined_handle {
	unsigned class, id;
	void *real;
};

/* Generated. */
extern const struct real_function real_functions[];
extern const unsigned real_function_count;
extern const struct predefined_handle predefined_handles[];
extern const unsigned predefined_handle_count;

/* Writes to upper memory and says so. */
static inline void put(void *upper, const void *value, size_t len)
{
	if (!upper)
		return;
	memcpy(upper, value, len);
	host->out(upper, len);
}

static inline void put_handle(void **upper, unsigned class, uint32_t id)
{
	void *handle = upper_handle(class, id);

	put(upper, &handle, sizeof(handle));
}

/* To what the program has room for; `len` may be NULL. */
static inline void shorten(char *text, size_t bytes, size_t room, int *len)
{
	if (bytes <= room || strnlen(text, room) < room)
		return;
	text[room - 1] = 0;
	if (len)
		*len = (int)room - 1;
}

/* Codes say more than their class in some MPIs. */
static inline bool is_class(int rc, int wanted)
{
	int class;

	return rc != MPI_SUCCESS && PMPI_Error_class(rc, &class) == MPI_SUCCESS && class == wanted;
}

static inline bool is_truncation(int rc)
{
	return is_class(rc, MPI_ERR_TRUNCATE);
}

/* " Gatherv " of MPI_Gatherv and MPI_Gatherv_c, as lists of functions have it. */
static inline void procedure_word(const char *name, char *word, size_t size)
{
	size_t len;

	name += strncmp(name, "MPI_", 4) ? 0 : 4;
	len = strlen(name);
	len -= len > 2 && !strcmp(name + len - 2, "_c") ? 2 : 0;
	snprintf(word, size, " %.*s ", (int)len, name);
}

/* A failure that the error handler of `comm` hears of: see rdb_error() in the stub. */
static inline int64_t failure(int rc, const struct vcomm *comm)
{
	return rc == MPI_SUCCESS ? 0 : (int64_t)((uint64_t)comm->o.id << 32 | (uint32_t)rc);
}

/* Around a call of the real MPI that may wait for other processes: meanwhile other threads of the
 * program run, and change the tables of virtual objects. */
#define BLOCKING(call) \
	({ \
		bool held_ = host->hold(false); \
		__auto_type rc_ = (call); \
\
		host->hold(held_); \
		rc_; \
	})

/* leaving.c: what has to be done before the real MPI_Finalize. */
void before_the_end(void);
void after_the_end(void);

/* How many nonblocking reductions by the program's own operations are going on (pending.c). */
extern unsigned pending_operations;

/* Upper code may run during a call that waits: what the call writes must be kept from it. */
static inline bool apart(void)
{
	return pending_operations || host->shared();
}

/* blocking.c: the same by way of nonblocking calls if other threads would run, so that they need not
 * if there is nothing to wait for. */
typedef int send_call(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int isend_call(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int sent(send_call *call, isend_call *start, const void *buf, int count, MPI_Datatype type, int dest, int tag,
	 MPI_Comm comm);
int waited(MPI_Request *real, MPI_Status *status);
/* The same for a request of a blocking send. */
int waited_sent(MPI_Request *real);
/* What the recording will have to do is done while there is nothing to receive. */
void idle_until_message(int source, int tag, MPI_Comm comm);

/* landing.c: where a blocking call writes its results if other threads run meanwhile: to a copy, whose
 * parts reach the program at the end of the event.  Each part is named twice, before the call and after. */
struct landing_part {
	char *upper;
	int64_t count;
	struct vtype *type;
	bool delivered; /* already: a partition */
	bool input;     /* not a result: with MPI_IN_PLACE the input may be longer */
};

struct landing {
	char *upper, *buffer; /* what the program gave, and what the real MPI is given */
	char *room;
	uintptr_t from, to; /* of all parts; upper addresses */
	bool before, scattered;
	bool keep; /* in a copy, its parts in a list: other upper code runs before they are delivered */
	struct landing_part *parts; /* allocated */
	unsigned part_count, part_room;
};
void landing_begin(struct landing *land, void *upper);
void landing_keep(struct landing *land, void *upper);
void landing_input(struct landing *land, void *upper, int64_t count, const struct vtype *type);
/* To the program, after a nonblocking call is complete. */
void landing_deliver(struct landing *land);
/* One part, once, until landing_again(). */
void landing_deliver_part(struct landing *land, unsigned part);
void landing_again(struct landing *land);
void landing_part(struct landing *land, void *upper, int64_t count, const struct vtype *type);
/* Of each peer; or from each neighbour of a communicator with a topology.  Counts and displacements are int or larger;
 * before the call nobody has looked at these arguments of the program's yet. */
#define landing_vector(land, upper, counts, displs, type, comm) \
	landing_each(land, upper, counts, displs, type, comm_peers(comm))
#define landing_neighbors(land, upper, counts, displs, type, comm) \
	landing_each(land, upper, counts, displs, type, comm_neighbors(comm, true))
#define landing_each(land, upper, counts, displs, type, n) \
	({ \
		for (int n_ = (n), i_ = 0; (counts) && (displs) && i_ < n_; i_++) \
			landing_part(land, (char *)(upper) + (displs)[i_] * (type)->extent, (counts)[i_], type); \
	})
void landing_ready(struct landing *land);
void landing_end(struct landing *land);
/* Elements of a datatype, without its gaps. */
void copy_typed(void *to, const void *from, int64_t count, const struct vtype *type);

/* order_record.c: is what the present call writes made again by a whole-job replay?  Returns what was before. */
bool order_begin(bool covered);
/* Of a call, before it.  What such a replay cannot make again is refused. */
bool order_call(unsigned index, uint32_t nargs, const uint64_t *a);
/* And after it, with what that has returned. */
void order_end(bool before);
/* host->out() or host->payload(). */
void order_out(void *upper, size_t len);
/* Has the call an operation of the program's own? */
bool order_own_operation(unsigned index, uint32_t nargs, const uint64_t *a);
/* A collective that blocks, or a call that computes from memory alone. */
bool order_collective(const char *name);
/* order_expand.c */
const char *plugin_expand(enum rdb_expand step, uint32_t fn, uint32_t nargs, const uint64_t *args,
			  struct rdb_recorded *recorded);

/* types.c: these elements of upper memory were written. */
void out_typed(void *buf, int64_t count, const struct vtype *type);
void out_received(void *buf, int64_t bytes, int64_t count, const struct vtype *type);

/* p2p.c: notes for readers of the log. */
void note_send(const struct vcomm *comm, int dest, int tag, const void *buf, int64_t count, const struct vtype *type,
	       uint32_t request);
/* The order of a receive that is posted now. */
uint64_t receive_posted(void);
void note_receive(const struct vcomm *comm, const MPI_Status *status, int64_t bytes, uint32_t request, uint64_t order);

/* requests.c */
void request_send(struct vreq *request, struct vcomm *comm, int dest, int tag, const void *buf, int count,
		  struct vtype *type, bool persistent);
void requests_poll_orphans(void);
/* tools.c: has the program begun with MPI_T, and not ended? */
bool tools_begun(void);
/* exchanges.c: what MPI_Isendrecv and its kin have sent has left. */
void exchanges_end(void);
extern unsigned long requests_completed; /* so far */
/* Blocking receives while other threads run: begun, waited for, delivered. */
struct vreq *receive_begin(void *buf, int count, struct vtype *type, struct vcomm *comm);
int receive_start(struct vreq *request, int source, int tag, MPI_Request *real);
int receive_matched(struct vreq *request, MPI_Message *message, MPI_Request *real);
int receive_end(struct vreq *request, int rc, const MPI_Status *status);
/* plugin.c: from now on something may come without a call (host.h, progress). */
void progress_begin(void);
/* restart.c */
const char *plugin_restart(enum rdb_restart step, uint32_t fn, uint32_t nargs, const uint64_t *a, int64_t *result);
/* plugin.c: a duplicate of MPI_COMM_SELF for our own use. */
MPI_Comm private_self(void);

/* ops.c */
struct reduction {
	void *buffer; /* what the real MPI is given as the result buffer */
	void *upper;  /* the program's own, if `buffer` is a copy */
	void *room;
	const struct vtype *type, *outer_type;
};
void reduction_begin(struct reduction *red, struct vobject *op, const struct vtype *type, void *upper, int64_t count);
void reduction_result(struct reduction *red, int64_t count);
void reduction_end(struct reduction *red);

#endif
