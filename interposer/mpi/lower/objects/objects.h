/* Virtual objects: the program's handles contain ids, which a table per class maps to objects.
 *
 * A free slot, slot 0 and ids out of range give the class's `invalid` object, whose real handle is NULL: the real MPI
 * then returns its usual error.  An object outlives its slot while requests refer to it.
 */
#pragma once
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "handles.h"

/* Conversions between a real MPI's handle, a pointer or a number, and the `real` of struct vobject. */
#define BITS(handle) ((void *)(intptr_t)(handle))
#define REAL(type, bits) ((type)(intptr_t)(bits))
#ifdef OPEN_MPI
#define REAL_BYTES sizeof(void *)
#else
#define REAL_BYTES sizeof(MPI_Datatype) /* of handles in arrays */
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
	bool dense;      /* `count` elements are one run of bytes from the buffer's start */
	bool receivable; /* once it has been committed; false: not yet known */
	bool freed;      /* the program has freed it; pending operations still need it */
	enum { SENT_UNKNOWN, SENT_AS_IT_LIES, SENT_OTHERWISE } order; /* of the bytes of one element (lean.c) */
	unsigned operations;
	struct block *blocks; /* parts to log, of a type with large gaps (absolute addresses) */
	unsigned block_count;
	struct rdb_blocks *parts; /* its data without gaps; made by type_parts() at the first send */
	unsigned part_count;
};

struct vcomm {
	struct vobject o;
	int rank, size, remote;
	bool inter;
	uint64_t page_name;       /* its name on the board (checkpoint/coordinated.h); 0: none */
	uint64_t context, copies; /* see comm_text(); number of copies that MPI_Comm_idup has begun */
	const char *by;           /* the call that made it */
	int *world;               /* by rank (of the remote group, if inter): number in the log (worlds.h) */
};

struct vop {
	struct vobject o;
	int slot; /* 1 + index in ops.c, for an operation of the program */
};

struct drained; /* checkpoint/coordinated.h: a message that a checkpoint has taken out of the network */

struct vmessage {
	struct vobject o;
	struct vcomm *comm;
	uint64_t order; /* receive_posted() */
	int64_t bytes;  /* this and the following are for checkpoints (matched.c) */
	int source, tag;
	struct drained *taken;
	void *coming; /* request that is receiving `taken` */
};

struct generalized; /* generalized.c */
struct pending;     /* pending.h */

#define REQUEST_INLINE 96

struct vreq {
	struct vobject o;
	bool receive, persistent, active, delivered, packed, blocking, partitioned;
	MPI_Request *waiting; /* of the call that waits for it in the real MPI: what it asks for; NULL: none waits */
	bool early;           /* its data was delivered before the program completed it (early.c) */
	bool nobody;          /* a receive from MPI_PROC_NULL; MPICH's status would name rank 0 */
	int count, peer, tag;
	void *buf;      /* upper */
	uint64_t order; /* of a receive that was posted: receive_posted() */
	struct vtype *type;
	struct vcomm *comm;
	int64_t room;
	char *shadow; /* received bytes until completion: `own` or allocated; NULL: they go to `buf` */
	struct pending *pending;
	unsigned starts; /* of a partitioned send: number of starts */
	unsigned others; /* and number of other calls before the last start (partitioned.c) */
	struct generalized *generalized;
	void *instead; /* after a restart: the real persistent request, while a complete one replaces a started send */
	struct staged_read *staged_read; /* data read from a window or a file */
	void *kept;                      /* the real persistent request, while a complete request replaces it */
	int asked_peer, asked_tag;       /* canonical values, for restarts */
	char mode;                       /* of a persistent send: n, s, r, b */
	struct vreq *next;               /* in the list of orphans */
	char own[REQUEST_INLINE];
};

struct table {
	struct vobject **slot;
	uint32_t size; /* slots */
	uint32_t *free_ids, free_count;
	uint32_t next; /* id never used so far */
	struct vobject *invalid;
	struct vobject *unused; /* list by `real`: memory for new objects */
	size_t object_size;
	void (*release)(struct vobject *object); /* called when the last reference is gone */
};

extern struct table tables[RDB_CLASSES];

static inline struct vobject *object_of(unsigned class, uint64_t id)
{
	const struct table *table = &tables[class];

	return id < table->size ? table->slot[id] : table->invalid;
}

#define EACH(class, object) \
	for (uint32_t id_ = RDB_FIRST_DYNAMIC; id_ < tables[class].next; id_++) \
		if ((object = (void *)object_of(class, id_))->o.id == id_)
#define EACH_PLAIN(class, object) \
	for (uint32_t id_ = RDB_FIRST_DYNAMIC; id_ < tables[class].next; id_++) \
		if ((object = object_of(class, id_))->id == id_)

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

/* By class: size of an object (0: plain struct vobject), and what to do when its last reference is gone. */
struct object_class {
	size_t size;
	void (*release)(struct vobject *object);
};
void tables_init(const struct object_class classes[RDB_CLASSES]); /* must be called first */
const struct rdb_predef_table *tables_shown(void);
void tables_show(const struct rdb_predef_table *upper);      /* enough for upper_handle() */
void tables_predefine(const struct rdb_predef_table *upper); /* after the real MPI_Init */
void *upper_handle(unsigned class, uint32_t id);
/* Maps an array of upper handles to ids (returned) and real handles, in one block: free() the ids. */
uint32_t *handles_in(unsigned class, void *const *upper, int count, void ***real);

/* The object of a real handle: a predefined one or a new one. */
struct vobject *object_new(unsigned class, void *real);
/* A new object with the id that it had before a restart. */
struct vobject *object_at(unsigned class, uint32_t id, void *real);
/* Gives an object another id; an object that has this id gets the old one. */
void object_move(struct vobject *object, uint32_t id);
/* Empties the object's slot and drops a reference; the object is freed with its last reference. */
void object_drop(struct vobject *object);
static inline void *object_hold(void *object)
{
	((struct vobject *)object)->refs++;
	return object;
}
void object_release(struct vobject *object);
void comm_release(struct vobject *comm);
void type_release(struct vobject *type);
void op_release(struct vobject *op);           /* ops.c */
void request_release(struct vobject *request); /* requests.c */
void message_release(struct vobject *message); /* matched.c */

struct vcomm *comm_new(MPI_Comm real, const char *by);
void comm_describe(struct vcomm *comm);
/* The real communicator of an object whose handle the program got before (MPI_Comm_idup). */
void comm_become(struct vcomm *comm, MPI_Comm real, const char *by);
/* Context of the copy that MPI_Comm_idup begins now.  All ranks begin copies in the same order, but copies may complete
 * in any order. */
uint64_t comm_copy_context(struct vcomm *comm);
/* Its text in the log.  `context` is the same number in all ranks of the communicator; readers of the logs need it to
 * match sends with receives. */
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

/* Number of ranks that a collective on this communicator communicates with. */
static inline int comm_peers(const struct vcomm *comm)
{
	return comm->inter ? comm->remote : comm->size;
}

static inline bool comm_is_root(const struct vcomm *comm, int root)
{
	return comm->inter ? root == MPI_ROOT : root == comm->rank;
}

/* Whether this rank receives the data that `root` sends. */
static inline bool comm_receives(const struct vcomm *comm, int root)
{
	return !comm->inter || (root != MPI_ROOT && root != MPI_PROC_NULL);
}

/* This rank's element of an array of counts (int or larger), and the sum of all. */
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
/* Text for the log: the ranks from which this one gets data in a neighbourhood collective.  False: no topology. */
bool topology_text(const struct vcomm *comm, char *text, size_t size);

static inline int comm_world_rank(const struct vcomm *comm, int rank)
{
	return comm->world && rank >= 0 && rank < comm_peers(comm) ? comm->world[rank] : -1;
}
