/* Virtual objects: what stands behind the ids that the program's handles carry.
 *
 * A table per class maps ids to objects.  A free slot, slot 0 and ids out of range hold the
 * class's `invalid` object, whose real handle is NULL: the real MPI then gives its usual error.
 * An object outlives its slot while requests still refer to it.
 */
#ifndef RDB_MPI_OBJECTS_H
#define RDB_MPI_OBJECTS_H
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "handles.h"

/* A real MPI's handle, a pointer or a number, as struct vobject has it. */
#define BITS(handle) ((void *)(intptr_t)(handle))
#define REAL(type, bits) ((type)(intptr_t)(bits))
#ifdef OPEN_MPI
#define REAL_BYTES sizeof(void *)
#else
#define REAL_BYTES sizeof(MPI_Datatype) /* of those that come in arrays */
#endif

struct vobject {
	void *real;
	uint32_t id;
	uint16_t class;
	int refs;
};

struct block {
	MPI_Aint offset, len;
};

struct vtype {
	struct vobject o;
	int64_t size;
	MPI_Aint extent, true_lb, true_extent;
	bool dense; /* any count of it is one run of bytes from the buffer's start */
	bool freed; /* by the program; its handle is needed by `operations` that go on */
	unsigned operations;
	struct block *blocks; /* what to log of a type with large gaps (absolute addresses) */
	unsigned block_count;
	struct rdb_blocks *parts; /* its data without any gap, once it has been sent (type_parts()) */
	unsigned part_count;
};

struct vcomm {
	struct vobject o;
	int rank, size, remote;
	bool inter;
	uint64_t together;        /* its name on the board (together.h); 0: none */
	uint64_t context, copies; /* copies: that MPI_Comm_idup has begun */
	const char *by;           /* the call that made it */
	int *world;               /* rank in it (remote group's, if inter) -> its number for the log (worlds.h) */
};

struct vop {
	struct vobject o;
	int slot; /* 1 + index in ops.c, if it is the program's */
};

struct drained; /* together.h: a message that a checkpoint has taken out of the network */

struct vmessage {
	struct vobject o;
	struct vcomm *comm;
	uint64_t order; /* receive_posted() */
	int64_t bytes;  /* of a checkpoint's concern (matched.c), as are those that follow */
	int source, tag;
	struct drained *taken;
	void *coming; /* the request of what is being taken */
};

struct generalized; /* generalized.c: functions of the program */
struct pending;     /* pending.h: what a nonblocking collective needs until it is complete */

#define REQUEST_INLINE 96

struct vreq {
	struct vobject o;
	bool receive, persistent, active, delivered, packed, blocking, partitioned;
	unsigned waiting; /* threads that are in the real MPI with it */
	bool early;       /* its bytes have reached the program, and it is not complete yet (early.c) */
	bool nobody;      /* a receive from MPI_PROC_NULL, of which MPICH's status says rank 0 */
	int count, peer, tag;
	void *buf;      /* upper */
	uint64_t order; /* of a receive that was posted: receive_posted() */
	struct vtype *type;
	struct vcomm *comm;
	int64_t room;
	char *shadow; /* received bytes until completion: `own` or allocated */
	struct pending *pending;
	unsigned starts; /* of a partitioned send: how often, and */
	unsigned others; /* how many calls of others there were before the last (partitioned.c) */
	struct generalized *generalized;
	void *instead;             /* after a restart: the persistent request, while a started send of it is complete */
	struct inflight *inflight; /* what it brings of a window or a file */
	void *kept;                /* the real persistent request, while another one stands for it */
	int asked_peer, asked_tag; /* as the program has them, for restarts */
	char mode;                 /* of a persistent send: n, s, r, b */
	struct vreq *next;         /* of free ones or orphans */
	char own[REQUEST_INLINE];
};

struct table {
	struct vobject **slot;
	uint32_t size; /* slots */
	uint32_t *free_ids, free_count;
	uint32_t next; /* id never used so far */
	struct vobject *invalid;
	size_t object_size;
	void (*release)(struct vobject *object); /* last reference gone */
};

extern struct table tables[RDB_CLASSES];

static inline struct vobject *object_of(unsigned class, uint64_t id)
{
	const struct table *table = &tables[class];

	return id < table->size ? table->slot[id] : table->invalid;
}

static inline struct vcomm *comm_of(uint64_t id)
{
	return (void *)object_of(RDB_COMM, id);
}
static inline struct vtype *type_of(uint64_t id)
{
	return (void *)object_of(RDB_TYPE, id);
}
static inline struct vreq *request_of(uint64_t id)
{
	return (void *)object_of(RDB_REQUEST, id);
}
static inline struct vmessage *message_of(uint64_t id)
{
	return (void *)object_of(RDB_MESSAGE, id);
}
static inline struct vobject *group_of(uint64_t id)
{
	return object_of(RDB_GROUP, id);
}
static inline struct vobject *op_of(uint64_t id)
{
	return object_of(RDB_OP, id);
}
static inline struct vobject *info_of(uint64_t id)
{
	return object_of(RDB_INFO, id);
}
static inline struct vobject *errhandler_of(uint64_t id)
{
	return object_of(RDB_ERRHANDLER, id);
}

void tables_init(void); /* before anything */
const struct rdb_predef_table *tables_shown(void);
void tables_show(const struct rdb_predef_table *upper);      /* enough for upper_handle() */
void tables_predefine(const struct rdb_predef_table *upper); /* after the real MPI_Init */
void *upper_handle(unsigned class, uint32_t id);
/* Upper handles to real ones, one malloc for both arrays: free() the returned ids. */
uint32_t *handles_in(unsigned class, void *const *upper, int count, void ***real);

/* An object of that class for a real handle: the predefined one or a new one. */
struct vobject *object_new(unsigned class, void *real);
/* The same with the id that it had before a restart. */
struct vobject *object_at(unsigned class, uint32_t id, void *real);
/* Under another id; who has it takes this one's. */
void object_move(struct vobject *object, uint32_t id);
/* Empties its slot; the object itself goes with its last reference. */
void object_drop(struct vobject *object);
static inline void *object_hold(void *object)
{
	((struct vobject *)object)->refs++;
	return object;
}
void object_release(struct vobject *object);
void op_release(struct vobject *op); /* ops.c */

struct vcomm *comm_new(MPI_Comm real, const char *by);
void comm_describe(struct vcomm *comm);
/* One whose handle the program had before there was a real one. */
void comm_become(struct vcomm *comm, MPI_Comm real, const char *by);
/* The context of the copy that MPI_Comm_idup begins now: its ranks begin such copies in the same order, and may hear of
 * them in any. */
uint64_t comm_copy_context(struct vcomm *comm);
/* How a log calls it: `context` is the same number in every rank of the communicator, which who matches sends with
 * receives from the logs alone needs. */
void comm_text(const struct vcomm *comm, char *text, size_t size);
struct vtype *type_new(MPI_Datatype real);
void type_describe(struct vtype *type); /* types.c */
void type_parts(struct vtype *type);
struct vobject *group_new(MPI_Group real); /* window_epochs.c: its ranks are noted */
static inline struct vobject *info_new(MPI_Info real)
{
	return object_new(RDB_INFO, real);
}
static inline struct vreq *request_new(MPI_Request real)
{
	return (struct vreq *)object_new(RDB_REQUEST, real);
}
static inline struct vmessage *message_new(MPI_Message real)
{
	return (struct vmessage *)object_new(RDB_MESSAGE, real);
}

/* Ranks that a collective of this communicator talks to. */
static inline int comm_peers(const struct vcomm *comm)
{
	return comm->inter ? comm->remote : comm->size;
}

static inline bool comm_is_root(const struct vcomm *comm, int root)
{
	return comm->inter ? root == MPI_ROOT : root == comm->rank;
}

/* Does this rank receive what `root` sends? */
static inline bool comm_receives(const struct vcomm *comm, int root)
{
	return !comm->inter || (root != MPI_ROOT && root != MPI_PROC_NULL);
}

/* Of an array of counts, int or larger: this rank's, and all. */
#define comm_part(comm, counts) ((counts)[(comm)->rank])
#define comm_total(comm, counts) \
	({ \
		int64_t total_ = 0; \
\
		for (int i_ = 0; i_ < (comm)->size; i_++) \
			total_ += (counts)[i_]; \
		total_; \
	})

int comm_neighbors(const struct vcomm *comm, bool in); /* topologies.c; 0: it has no topology */
/* For readers of the log: from whom it gets data in a collective among neighbours.  False: it has no topology. */
bool topology_text(const struct vcomm *comm, char *text, size_t size);

static inline int comm_world_rank(const struct vcomm *comm, int rank)
{
	return comm->world && rank >= 0 && rank < comm_peers(comm) ? comm->world[rank] : -1;
}

#endif
