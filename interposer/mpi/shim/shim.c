/* Handles, keyvals and arrays of another ABI. */
#include "shim.h"
#include <sys/mman.h>
#include <sys/syscall.h>
#include "arch/syscall.h"
#include "type_constants.h"

#define OWN_KEYVALS 0x10000 /* the ABI's predefined keyvals are below this or far above */
#define OWN_KEYVALS_END 0x1000000

void *shim_in(unsigned class, int64_t native)
{
	uint32_t id = native_dynamic_id(class, native);

	if (id)
		return rdb_handle(class, id);
	id = shim_predefined_id(class, native);
	return id ? (void *)rdb_predefined.handles[class][id] : rdb_handle(class, 0);
}

int64_t shim_out(unsigned class, const void *core)
{
	uint32_t id = rdb_id(class, core);

	if (id >= RDB_FIRST_DYNAMIC)
		return native_dynamic(class, id);
	return id < shim_values[class].count && id ? shim_values[class].list[id] : 0;
}

int shim_keyval_in(int keyval)
{
	int known = shim_keyval_predefined_in(keyval);

	if (known != keyval)
		return known;
	return keyval >= OWN_KEYVALS && keyval < OWN_KEYVALS_END ? keyval - OWN_KEYVALS : INT32_MAX;
}

int shim_keyval_out(int keyval)
{
	return keyval >= RDB_KEYVALS_OWN ? keyval + OWN_KEYVALS : shim_keyval_predefined_out(keyval);
}

extern int core_MPI_Type_get_envelope_c(const void *, const void *, const void *, const void *, const void *,
					const void *);

static int order_out(int order)
{
	return shim_order_out(order);
}

static int distribution_out(int distribution)
{
	return shim_distribution_out(distribution);
}

static int argument_out(int argument)
{
	return shim_darg_out(argument);
}

void shim_contents(MPI_Datatype type, int *integers)
{
	MPI_Count n[4] = {0};
	int combiner = 0;

	core_MPI_Type_get_envelope_c(SHIM_IN(RDB_TYPE, type), &n[0], &n[1], &n[2], &n[3], &combiner);
	type_constants(shim_combiner_out(combiner), integers, n[0], order_out, distribution_out, argument_out);
}

void *shim_map(size_t bytes)
{
	long at = raw_syscall(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at < 0 && at > -4096)
		__builtin_trap();
	return (void *)at;
}

void shim_unmap(void *at, size_t bytes)
{
	raw_syscall(SYS_munmap, (long)at, (long)bytes, 0, 0, 0, 0);
}

extern int core_MPI_Comm_test_inter(const void *, const void *);
extern int core_MPI_Comm_size(const void *, const void *);
extern int core_MPI_Comm_remote_size(const void *, const void *);

int shim_peers(MPI_Comm comm)
{
	void *core = SHIM_IN(RDB_COMM, comm);
	int inter = 0, size = 0;

	if (core_MPI_Comm_test_inter(core, &inter))
		return 0;
	if (inter)
		core_MPI_Comm_remote_size(core, &size);
	else
		core_MPI_Comm_size(core, &size);
	return size;
}

extern int core_MPI_Topo_test(const void *, const void *);
extern int core_MPI_Cartdim_get(const void *, const void *);
extern int core_MPI_Comm_rank(const void *, const void *);
extern int core_MPI_Graph_neighbors_count(const void *, int, const void *);
extern int core_MPI_Dist_graph_neighbors_count(const void *, const void *, const void *, const void *)
	__attribute__((weak));

int shim_degree(MPI_Comm comm, int out)
{
	enum { CANONICAL_CART = 1, CANONICAL_GRAPH = 2, CANONICAL_DIST_GRAPH = 3 };
	void *core = SHIM_IN(RDB_COMM, comm);
	int kind = 0, n = 0, m = 0, weighted;

	if (core_MPI_Topo_test(core, &kind))
		return 0;
	switch (kind) {
	case CANONICAL_CART: core_MPI_Cartdim_get(core, &n); return 2 * n;
	case CANONICAL_GRAPH:
		core_MPI_Comm_rank(core, &m);
		core_MPI_Graph_neighbors_count(core, m, &n);
		return n;
	case CANONICAL_DIST_GRAPH:
		if (core_MPI_Dist_graph_neighbors_count)
			core_MPI_Dist_graph_neighbors_count(core, &n, &m, &weighted);
		return out ? m : n;
	}
	return 0;
}
