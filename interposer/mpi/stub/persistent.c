#ifndef RDB_CORE
#include "fortran.h"
#endif
#include "persistent.h"
#include <sys/syscall.h>

enum { ARGUMENTS = 16, HELD = 4, FIRST_ID = 0x2000000, CONVERTED = 2 };

struct persistent {
	struct persistent *next;
	uint32_t id, index, nargs;
	uint64_t args[ARGUMENTS];
	const char *name;
	MPI_Comm comm;     /* a duplicate, because ranks may start such requests in different orders */
	MPI_Request inner; /* the nonblocking collective that was started, until it is complete */
#ifndef RDB_CORE
	struct rdb_body body; /* Open MPI 5's Fortran library stores in it what to free with the request */
#endif
	struct held *held[HELD];
	void *types[CONVERTED];
	size_t type_bytes[CONVERTED];
	int used;
};

struct held {
	struct held *next;
	unsigned class, count;
	uint32_t id;
	int freed; /* the program has freed it */
};

static struct rdb_lock lock;
static struct persistent *all; /* entries are never removed, but used again */
static struct held *held;
static uint32_t next_id = FIRST_ID;

#define REQUEST_NULL HANDLE(RDB_REQUEST, RDB_NULL_ID)

static struct persistent *find(MPI_Request request)
{
	uint32_t id = all ? rdb_id(RDB_REQUEST, request) : 0;
	struct persistent *one = id >= FIRST_ID ? all : NULL;

	while (one && one->id != id)
		one = one->next;
	return one && one->used ? one : NULL;
}

static struct held *hold(unsigned class, uint32_t id)
{
	struct held *one = held;

	if (id < RDB_FIRST_DYNAMIC)
		return NULL;
	while (one && (one->class != class || one->id != id || !one->count))
		one = one->next;
	if (!one && (one = rdb_alloc(sizeof(*one)))) {
		*one = (struct held){.next = held, .class = class, .id = id};
		held = one;
	}
	if (one)
		one->count++;
	return one;
}

static void release(struct held *one)
{
	void *handle = one ? rdb_handle(one->class, one->id) : NULL;

	if (!one || --one->count || !one->freed)
		return;
	rdb_call(one->class == RDB_OP ? RDB_Op_free : RDB_Type_free, 1, (uint64_t[]){(uint64_t)&handle});
	one->freed = 0;
}

int rdb_persistent_keeps(unsigned class, void *handle)
{
	uint32_t id = held && handle ? rdb_id(class, *(void **)handle) : 0;

	for (struct held *one = id >= RDB_FIRST_DYNAMIC ? held : NULL; one; one = one->next) {
		if (one->class != class || one->id != id || !one->count)
			continue;
		one->freed = 1;
		*(void **)handle = HANDLE(class, RDB_NULL_ID);
		return 1;
	}
	return 0;
}

/* Number of datatypes in arguments of MPI_Neighbor_alltoallw. */
static int types_of(MPI_Comm comm, int sending)
{
	enum { CART = 1, GRAPH = 2, DIST_GRAPH = 3 };
	int kind = 0, n = 0, m = 0, weighted;

	PMPI_Topo_test(comm, &kind);
	switch (kind) {
	case CART: PMPI_Cartdim_get(comm, &n); return 2 * n;
	case GRAPH:
		PMPI_Comm_rank(comm, &m);
		PMPI_Graph_neighbors_count(comm, m, &n);
		return n;
	case DIST_GRAPH: PMPI_Dist_graph_neighbors_count(comm, &n, &m, &weighted); return sending ? m : n;
	}
	return 0;
}

static int peers_of(MPI_Comm comm)
{
	int inter = 0, n = 0;

	PMPI_Comm_test_inter(comm, &inter);
	if (inter)
		PMPI_Comm_remote_size(comm, &n);
	else
		PMPI_Comm_size(comm, &n);
	return n;
}

/* Copies an array of datatypes: in another ABI's libmpi it belongs to the shim and ends with the call. */
static int keep_types(struct persistent *one, unsigned place, int n, unsigned which)
{
	size_t bytes = (size_t)(n > 0 ? n : 1) * sizeof(void *);
	void **copy = rdb_map(bytes);

	if (!copy)
		return MPI_ERR_NO_MEM;
	for (int i = 0; i < n; i++)
		copy[i] = ((void **)one->args[place])[i];
	one->args[place] = (uint64_t)copy;
	one->types[which] = copy;
	one->type_bytes[which] = bytes;
	return 0;
}

static struct persistent *new_one(void)
{
	struct persistent *one;
	uint32_t id;

	rdb_lock(&lock);
	one = all;
	while (one && one->used)
		one = one->next;
	if (!one && (one = rdb_map(sizeof(*one)))) {
		*one = (struct persistent){.next = all, .id = next_id++};
		all = one;
	}
	id = one ? one->id : 0;
	if (one) {
		struct persistent *next = one->next;

		*one = (struct persistent){.next = next, .id = id, .used = 1, .inner = REQUEST_NULL};
	}
	rdb_unlock(&lock);
	return one;
}

int rdb_persistent_init(uint32_t index, uint32_t nargs, const uint64_t *args, const char *kinds, MPI_Comm comm,
			MPI_Request *request, const char *name)
{
	enum { IN_PLACE = 1 };
	struct persistent *one = new_one();
	const int among_neighbours = index == RDB_Ineighbor_alltoallw || index == RDB_Ineighbor_alltoallw_c;
	unsigned n = 0;
	int err;

	if (!one || !request || nargs > ARGUMENTS)
		return rdb_error(comm, MPI_ERR_ARG, name);
	one->index = index;
	one->nargs = nargs;
	one->name = name;
	memcpy(one->args, args, nargs * sizeof(*args));
	err = (int)rdb_call(RDB_Comm_dup, 2, (uint64_t[]){rdb_id(RDB_COMM, comm), (uint64_t)&one->comm});
	for (unsigned i = 0; !err && i < nargs; i++) {
		switch (kinds[i]) {
		case 'c': one->args[i] = rdb_id(RDB_COMM, one->comm); break;
		case 't': one->held[n++] = hold(RDB_TYPE, (uint32_t)args[i]); break;
		case 'o': one->held[n++] = hold(RDB_OP, (uint32_t)args[i]); break;
		case 'r': one->args[i] = (uint64_t)&one->inner; break;
		case 'S':
			err = keep_types(one, i,
					 args[0] == IN_PLACE ? 0
					 : among_neighbours  ? types_of(comm, 1)
							     : peers_of(comm),
					 0);
			break;
		case 'R': err = keep_types(one, i, among_neighbours ? types_of(comm, 0) : peers_of(comm), 1); break;
		}
	}
	if (err) {
		one->used = 0;
		return rdb_error(comm, err, name);
	}
	rdb_comm_made(comm, one->comm);
	*request = rdb_handle(RDB_REQUEST, one->id);
#ifndef RDB_CORE
	one->body.handle = (struct rdb_predef){.magic = RDB_PREDEF_MAGIC, .class = RDB_REQUEST, .id = one->id};
	*request = (MPI_Request)&one->body.handle;
#endif
	return MPI_SUCCESS;
}

#ifndef RDB_CORE
struct rdb_body *rdb_persistent_body(uint32_t id)
{
	struct persistent *one = find(rdb_handle(RDB_REQUEST, id));

	return one ? &one->body : NULL;
}
#endif

int rdb_persistent(MPI_Request request)
{
	return find(request) != NULL;
}

int rdb_persistent_any(int count, const MPI_Request *requests)
{
	for (int i = 0; all && i < count; i++)
		if (find(requests[i]))
			return 1;
	return 0;
}

MPI_Request rdb_persistent_inner(MPI_Request request)
{
	const struct persistent *one = find(request);

	return one ? one->inner : request;
}

int rdb_persistent_start(MPI_Request request)
{
	struct persistent *one = find(request);
	int64_t rc = MPI_ERR_ARG;

	if (one->inner == REQUEST_NULL)
		rc = rdb_call(one->index, one->nargs, one->args);
	return rc ? rdb_error(one->comm, rc, one->name) : MPI_SUCCESS;
}

int rdb_persistent_startall(int count, MPI_Request *requests)
{
	int err = MPI_SUCCESS;

	for (int i = 0; i < count && !err; i++)
		err = PMPI_Start(&requests[i]);
	return err;
}

int rdb_persistent_free(MPI_Request *request)
{
	struct persistent *one = find(*request);
	int err = MPI_SUCCESS;

	if (one->inner != REQUEST_NULL)
		err = PMPI_Wait(&one->inner, NULL);
	rdb_call(RDB_Comm_free, 1, (uint64_t[]){(uint64_t)&one->comm});
	for (int i = 0; i < HELD; i++)
		release(one->held[i]);
	for (int i = 0; i < CONVERTED; i++)
		if (one->types[i])
			raw_syscall(SYS_munmap, (long)one->types[i], (long)one->type_bytes[i], 0, 0, 0, 0);
	one->used = 0;
	*request = REQUEST_NULL;
	return err;
}

void rdb_swap_in(struct rdb_swap *swap, int count, MPI_Request *requests)
{
	swap->were = NULL;
	if (!all || !requests || !rdb_persistent_any(count, requests))
		return;
	swap->count = count;
	swap->requests = requests;
	swap->bytes = (size_t)count * sizeof(*requests);
	swap->were = rdb_map(swap->bytes);
	for (int i = 0; swap->were && i < count; i++) {
		swap->were[i] = requests[i];
		requests[i] = rdb_persistent_inner(requests[i]);
	}
}

void rdb_swap_out(struct rdb_swap *swap)
{
	struct persistent *one;

	for (int i = 0; swap->were && i < swap->count; i++) {
		one = find(swap->were[i]);
		if (!one)
			continue;
		one->inner = swap->requests[i];
		swap->requests[i] = swap->were[i];
	}
	if (swap->were)
		raw_syscall(SYS_munmap, (long)swap->were, (long)swap->bytes, 0, 0, 0, 0);
}
