/* Groups, and communicators with their members and topologies. */
#include "lower/checkpoint/coordinated_state.h"

void put_group(struct bytes *out, MPI_Group group)
{
	MPI_Group world;
	int n, *ranks, *there;

	PMPI_Group_size(group, &n);
	ranks = needed(calloc((size_t)n + 1, sizeof(int)));
	there = needed(calloc((size_t)n + 1, sizeof(int)));
	for (int i = 0; i < n; i++)
		ranks[i] = i;
	PMPI_Comm_group(MPI_COMM_WORLD, &world);
	PMPI_Group_translate_ranks(group, n, ranks, world, there);
	PMPI_Group_free(&world);
	put_ints(out, there, n);
	free(ranks);
	free(there);
}

MPI_Group get_group(struct bytes *in)
{
	MPI_Group world, group = MPI_GROUP_NULL;
	int64_t n;
	int *ranks = get_ints(in, &n);

	PMPI_Comm_group(MPI_COMM_WORLD, &world);
	if (!in->bad)
		in->bad = PMPI_Group_incl(world, (int)n, ranks, &group) != MPI_SUCCESS;
	PMPI_Group_free(&world);
	free(ranks);
	return group;
}

enum { PLAIN, CART, GRAPH, DIST_GRAPH };

static void put_topology(struct bytes *out, MPI_Comm comm)
{
	int kind = MPI_UNDEFINED, n = 0, m = 0, weighted = 0;

	PMPI_Topo_test(comm, &kind);
	put_number(out, kind == MPI_CART         ? CART
			: kind == MPI_GRAPH      ? GRAPH
			: kind == MPI_DIST_GRAPH ? DIST_GRAPH
						 : PLAIN);
	if (kind == MPI_CART)
		PMPI_Cartdim_get(comm, &n);
	else if (kind == MPI_GRAPH)
		PMPI_Graphdims_get(comm, &n, &m);
	else if (kind == MPI_DIST_GRAPH)
		PMPI_Dist_graph_neighbors_count(comm, &n, &m, &weighted);
	int *a = needed(calloc((size_t)n + 1, sizeof(int))), *b = needed(calloc((size_t)(n + m) + 1, sizeof(int)));
	int *c = needed(calloc((size_t)(n + m) + 1, sizeof(int))), *d = needed(calloc((size_t)m + 1, sizeof(int)));

	if (kind == MPI_CART) {
		PMPI_Cart_get(comm, n, a, b, c);
		put_ints(out, a, n);
		put_ints(out, b, n);
	} else if (kind == MPI_GRAPH) {
		PMPI_Graph_get(comm, n, m, a, b);
		put_ints(out, a, n);
		put_ints(out, b, m);
	} else if (kind == MPI_DIST_GRAPH) {
		PMPI_Dist_graph_neighbors(comm, n, a, weighted ? b : MPI_UNWEIGHTED, m, c,
					  weighted ? d : MPI_UNWEIGHTED);
		put_number(out, weighted);
		put_ints(out, a, n);
		put_ints(out, b, n);
		put_ints(out, c, m);
		put_ints(out, d, m);
	}
	free(a);
	free(b);
	free(c);
	free(d);
}

static MPI_Comm with_topology(struct bytes *in, MPI_Comm plain)
{
	MPI_Comm made = plain;
	int64_t kind = get_number(in), weighted = kind == DIST_GRAPH ? get_number(in) : 0, n = 0, m = 0, x;
	int rc = MPI_SUCCESS, *a, *b, *c = NULL, *d = NULL;

	if (kind == PLAIN)
		return plain;
	a = get_ints(in, &n);
	b = get_ints(in, &m);
	if (kind == DIST_GRAPH) {
		c = get_ints(in, &m);
		d = get_ints(in, &x);
	}
	if (!in->bad && kind == CART)
		rc = PMPI_Cart_create(plain, (int)n, a, b, 0, &made);
	else if (!in->bad && kind == GRAPH)
		rc = PMPI_Graph_create(plain, (int)n, a, b, 0, &made);
	else if (!in->bad)
		rc = PMPI_Dist_graph_create_adjacent(plain, (int)n, a, weighted ? b : MPI_UNWEIGHTED, (int)m, c,
						     weighted ? d : MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
	in->bad |= rc != MPI_SUCCESS;
	if (!in->bad)
		PMPI_Comm_free(&plain);
	free(a);
	free(b);
	free(c);
	free(d);
	return made;
}

/* All ranks make communicators in the order of their names, so that there is no deadlock. */
static int by_name(const void *a, const void *b)
{
	const struct vcomm *x = *(struct vcomm *const *)a, *y = *(struct vcomm *const *)b;

	return x->page_name < y->page_name ? -1 : x->page_name > y->page_name;
}

int *coordinated_locals(const struct vcomm *comm)
{
	int *ranks = needed(calloc((size_t)comm->size + 1, sizeof(int))),
	    *there = needed(calloc((size_t)comm->size + 1, sizeof(int)));
	MPI_Group group, world;

	for (int i = 0; i < comm->size; i++)
		ranks[i] = i;
	PMPI_Comm_group(REAL(MPI_Comm, comm->o.real), &group);
	PMPI_Comm_group(MPI_COMM_WORLD, &world);
	PMPI_Group_translate_ranks(group, comm->size, ranks, world, there);
	PMPI_Group_free(&group);
	PMPI_Group_free(&world);
	free(ranks);
	return there;
}

/* The local group, and the first rank of the remote group, or -1. */
static void put_members(struct bytes *out, const struct vcomm *comm)
{
	int *locals = coordinated_locals(comm);

	put_ints(out, locals, comm->size);
	put_number(out, comm->inter ? comm->world[0] : -1);
	free(locals);
}

/* The leaders are the first ranks of both groups; no other message is under way in MPI_COMM_WORLD yet. */
static MPI_Comm joined(struct bytes *in, MPI_Comm local, int leader)
{
	MPI_Comm made = MPI_COMM_NULL;

	in->bad |= PMPI_Intercomm_create(local, 0, MPI_COMM_WORLD, leader, 0, &made) != MPI_SUCCESS;
	PMPI_Comm_free(&local);
	return made;
}

void put_comms(struct bytes *out)
{
	struct vcomm *comm, **all = needed(calloc(tables[RDB_COMM].next + 1, sizeof(*all)));
	char name[MPI_MAX_OBJECT_NAME];
	int64_t n = 0;
	int len;

	EACH(RDB_COMM, comm)
	all[n++] = comm;
	qsort(all, (size_t)n, sizeof(*all), by_name);
	put_number(out, n);
	for (int64_t i = 0; i < n; i++) {
		MPI_Comm real = REAL(MPI_Comm, all[i]->o.real);

		put_number(out, all[i]->o.id);
		put_number(out, (int64_t)all[i]->page_name);
		put_members(out, all[i]);
		if (!all[i]->inter)
			put_topology(out, real);
		name[0] = 0;
		PMPI_Comm_get_name(real, name, &len);
		put_text(out, name);
	}
	free(all);
}

void get_comms(struct bytes *in)
{
	char name[MPI_MAX_OBJECT_NAME];

	for (int64_t n = get_number(in); n > 0 && !in->bad; n--) {
		uint32_t id = (uint32_t)get_number(in);
		uint64_t page_name = (uint64_t)get_number(in);
		MPI_Group group = get_group(in);
		int leader = (int)get_number(in);
		MPI_Comm real = MPI_COMM_NULL;
		struct vcomm *comm;

		if (!in->bad)
			in->bad = PMPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &real) != MPI_SUCCESS;
		if (group != MPI_GROUP_NULL)
			PMPI_Group_free(&group);
		if (!in->bad)
			real = leader < 0 ? with_topology(in, real) : joined(in, real, leader);
		get_text(in, name, sizeof(name));
		if (in->bad)
			return;
		if (*name)
			PMPI_Comm_set_name(real, name);
		comm = (struct vcomm *)object_at(RDB_COMM, id, BITS(real));
		comm->page_name = page_name;
		comm->by = leader < 0 ? "MPI_Comm_create_group" : "MPI_Intercomm_create";
		comm_describe(comm);
		if (observer)
			coordinated_comm(comm);
	}
}
