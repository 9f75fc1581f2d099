/* Declarations that the files of the real side of MPI share.  It runs in the lower half, while recording only. */
#pragma once
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "functions.h"
#include "handles.h"
#include "interface/host.h"
#include "lower/objects/objects.h"
#include "lower/objects/status.h"
#include "lower/objects/translate.h"

/* The library has these types of MPI-1, also where its mpi.h refuses the names. */
#if defined(OPEN_MPI) && !OMPI_ENABLE_MPI1_COMPAT
extern struct ompi_predefined_datatype_t ompi_mpi_ub, ompi_mpi_lb;
#undef MPI_UB
#undef MPI_LB
#define MPI_UB OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_ub)
#define MPI_LB OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_lb)
#endif

struct observer;
extern const struct rdb_host *host;
extern struct rdb_plugin *own_plugin;   /* rdb_plugin, for files below plugin.c */
extern const struct observer *observer; /* NULL: no coordinated checkpoints (observer.h) */

/* Returns `memory`, a result of malloc(3), calloc(3), realloc(3) or strdup(3); ends the process if it is NULL. */
static inline void *needed(void *memory)
{
	if (!memory)
		host->fatal("out of memory in rdb's MPI plug-in");
	return memory;
}

struct real_function {
	const char *name;
	int64_t (*call)(const uint64_t *a); /* NULL: not supported yet */
	const char *
		handles; /* for each argument: the first letter of its handle's class, * for a pointer that is no buffer, or . */
	void (*sent)(const uint64_t *a); /* reports the memory that the call reads (sent.h); NULL: none */
};

struct predefined_handle {
	unsigned class, id;
	void *real;
};

/* Generated tables; plugin_init() sets these variables. */
extern const struct real_function *real_functions;
extern unsigned real_function_count;
extern const struct predefined_handle *predefined_handles;
extern unsigned predefined_handle_count;
void real_tables_set(void);

/* Writes to upper memory and reports it. */
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

/* Shortens a text to the program's room; `len` may be NULL. */
static inline void shorten(char *text, size_t bytes, size_t room, int *len)
{
	if (bytes <= room || strnlen(text, room) < room)
		return;
	text[room - 1] = 0;
	if (len)
		*len = (int)room - 1;
}

/* Compares the class of an error code: in some MPIs codes differ from their class. */
static inline bool is_class(int rc, int wanted)
{
	int class;

	return rc != MPI_SUCCESS && PMPI_Error_class(rc, &class) == MPI_SUCCESS && class == wanted;
}

static inline bool is_truncation(int rc)
{
	return is_class(rc, MPI_ERR_TRUNCATE);
}

/* Whether a message was received, possibly truncated. */
static inline bool has_come(int rc)
{
	return rc == MPI_SUCCESS || is_truncation(rc);
}

/* The word " Gatherv " for MPI_Gatherv and MPI_Gatherv_c, to look for in lists of functions. */
static inline void procedure_word(const char *name, char *word, size_t size)
{
	size_t len;

	name += strncmp(name, "MPI_", 4) ? 0 : 4;
	len = strlen(name);
	len -= len > 2 && !strcmp(name + len - 2, "_c") ? 2 : 0;
	snprintf(word, size, " %.*s ", (int)len, name);
}

/* Result of a call that failed; its error goes to the error handler of `comm` (rdb_error() in the stub). */
static inline int64_t failure(int rc, const struct vcomm *comm)
{
	return rc == MPI_SUCCESS ? 0 : (int64_t)((uint64_t)comm->o.id << 32 | (uint32_t)rc);
}

/* Wraps a call of the real MPI that may wait for other processes.  Meanwhile other threads of the program run and may
 * change the tables of virtual objects. */
#define BLOCKING(call) \
	({ \
		bool held_ = host->hold(false); \
		__auto_type rc_ = (call); \
\
		host->hold(held_); \
		rc_; \
	})

/* picked.c: the source from which to receive instead of MPI_ANY_SOURCE; without --chaos, or where no message has come,
 * that itself. */
int picked_source(int source, int tag, const struct vcomm *comm);

/* leaving.c: to be called before and after the real MPI_Finalize. */
void before_the_end(void);
void after_the_end(void);

/* Number of pending nonblocking reductions with operations of the program (pending.c). */
extern unsigned pending_operations;

/* Whether upper code may run while a call waits.  The call must not write to upper memory then. */
static inline bool apart(void)
{
	return pending_operations || host->shared();
}

/* staging.c: whether results must be kept out of upper memory until the event that completes them ends.  Without a log
 * they need not: at a coordinated checkpoint each operation is complete, or nothing of it has come. */
bool kept_apart(void);

/* blocking.c: blocking calls.  If other threads would run meanwhile, these are nonblocking calls, so that the baton is
 * kept if there is nothing to wait for. */
typedef int send_call(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int isend_call(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int sent(send_call *call, isend_call *start, const void *buf, int count, MPI_Datatype type, int dest, int tag,
	 MPI_Comm comm);
int waited(MPI_Request *real, MPI_Status *status);
/* waited() for the request of a blocking send. */
int waited_sent(MPI_Request *real);
/* Lets the recording do work ahead until the message is here. */
void idle_until_message(int source, int tag, MPI_Comm comm);

/* staging.c: results of calls.  If other threads run meanwhile, the real MPI writes to a copy, whose parts are
 * delivered at the end of the event.  staging_part() is called for each part twice, before and after the real call. */
struct staging_part {
	char *upper;
	int64_t count;
	struct vtype *type;
	bool delivered; /* of partitions: delivered already */
	bool input;     /* not a result: with MPI_IN_PLACE the input may be longer than the result */
};

struct staging {
	char *upper, *buffer;       /* buffer of the program; buffer for the real MPI */
	char *room;                 /* the copy, or NULL */
	uintptr_t from, to;         /* range of all parts; upper addresses */
	bool before, scattered;     /* before the real call; absolute addresses */
	bool aliased;               /* the call sends from where it receives, which an MPI may refuse */
	bool keep;                  /* use a copy and a list of parts: upper code may run before they are delivered */
	struct staging_part *parts; /* allocated */
	unsigned part_count, part_room;
};
void staging_begin(struct staging *staged, void *upper);
/* For a nonblocking call. */
void staging_keep(struct staging *staged, void *upper);
void staging_input(struct staging *staged, void *upper, int64_t count, const struct vtype *type);
/* The call sends `count` elements at `sendbuf`; the parts are named already.  If they lie in a part, the real MPI finds
 * them at staging_sent(), so that it sees that the buffers overlap. */
void staging_sends(struct staging *staged, void *sendbuf, int64_t count, const struct vtype *type);
void *staging_sent(const struct staging *staged, void *sendbuf);
/* Delivers all parts, when a nonblocking call is complete. */
void staging_deliver(struct staging *staged);
/* Delivers one part, once until staging_again(). */
void staging_deliver_part(struct staging *staged, unsigned part);
void staging_again(struct staging *staged);
void staging_part(struct staging *staged, void *upper, int64_t count, const struct vtype *type);
/* One part for each peer, or for each neighbour of a communicator with a topology.  Counts and displacements are int or
 * larger; the real MPI has not checked them yet. */
#define staging_vector(staged, upper, counts, displs, type, comm) \
	staging_each(staged, upper, counts, displs, type, comm_peers(comm))
#define staging_neighbors(staged, upper, counts, displs, type, comm) \
	staging_each(staged, upper, counts, displs, type, comm_neighbors(comm, true))
#define staging_each(staged, upper, counts, displs, type, n) \
	({ \
		for (int n_ = (n), i_ = 0; (counts) && (displs) && i_ < n_; i_++) \
			staging_part(staged, (char *)(upper) + (displs)[i_] * (type)->extent, (counts)[i_], type); \
	})
void staging_ready(struct staging *staged);
void staging_end(struct staging *staged);
/* Copies elements of a datatype, without its gaps. */
void copy_typed(void *to, const void *from, int64_t count, const struct vtype *type);

/* Sets whether a whole-job replay makes the bytes that are written from now on again (order_record.c).  Returns the
 * previous setting. */
bool order_begin(bool covered);
/* Reports written bytes with host->payload() if so, else with host->out(). */
void order_out(void *upper, size_t len);

/* types.c: report written elements in upper memory. */
void out_typed(void *buf, int64_t count, const struct vtype *type);
void out_received(void *buf, int64_t bytes, int64_t count, struct vtype *type);

/* p2p.c: notes for readers of the log. */
void note_send(const struct vcomm *comm, int dest, int tag, const void *buf, int64_t count, struct vtype *type,
	       uint32_t request);
/* Number of a receive that is posted now, in the order of posting. */
uint64_t receive_posted(void);
void note_receive(const struct vcomm *comm, const MPI_Status *status, int64_t bytes, uint32_t request, uint64_t order,
		  bool truncated);
/* The message's bytes are a part of this event; the receive is completed later, or never. */
void note_early(const struct vcomm *comm, const MPI_Status *status, int64_t bytes, uint32_t request, uint64_t order,
		bool truncated);

/* requests.c */
void request_send(struct vreq *request, struct vcomm *comm, int dest, int tag, const void *buf, int count,
		  struct vtype *type, bool persistent);
void requests_poll_orphans(void);
/* tools.c: whether the program has initialized MPI_T and not finalized it. */
bool tools_begun(void);
/* exchanges.c: waits until the sends of MPI_Isendrecv and MPI_Isendrecv_replace are complete. */
void exchanges_end(void);
extern unsigned long requests_completed; /* number of completed requests so far */
/* Blocking receives while other threads run: begin, start, end.  apart: the buffer holds data that is sent meanwhile. */
struct vreq *receive_begin(void *buf, int count, struct vtype *type, struct vcomm *comm, bool apart);
int receive_start(struct vreq *request, int source, int tag, MPI_Request *real);
int receive_matched(struct vreq *request, MPI_Message *message, MPI_Request *real);
int receive_end(struct vreq *request, int rc, MPI_Status *status);
/* A duplicate of MPI_COMM_SELF for our own use. */
MPI_Comm private_self(void);
void private_self_free(void);

/* ops.c: for restarts. */
int op_again(struct vobject *op, void *function, void *caller, int commute);
void op_functions(const struct vobject *op, void **function, void **caller);
struct reduction {
	void *buffer; /* result buffer for the real MPI */
	void *upper;  /* the program's own, if `buffer` is a copy */
	void *room;
	const struct vtype *type, *outer_type;
};
void reduction_begin(struct reduction *red, struct vobject *op, const struct vtype *type, void *upper, int64_t count);
void reduction_result(struct reduction *red, int64_t count);
void reduction_end(struct reduction *red);
