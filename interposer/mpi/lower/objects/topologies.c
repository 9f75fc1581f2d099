/* Neighbours in communicators with a topology. */
#include "lower/objects/real.h"
#include <stdio.h>

#define NO_ARRAY 16 /* MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY are small numbers */

int comm_neighbors(const struct vcomm *comm, bool in)
{
	int kind = MPI_UNDEFINED, n = 0, out = 0, weighted;

	if (!comm->o.real)
		return 0;
	PMPI_Topo_test(comm->o.real, &kind);
	switch (kind) {
	case MPI_CART: PMPI_Cartdim_get(comm->o.real, &n); return 2 * n;
	case MPI_GRAPH: PMPI_Graph_neighbors_count(comm->o.real, comm->rank, &n); return n;
	case MPI_DIST_GRAPH: PMPI_Dist_graph_neighbors_count(comm->o.real, &n, &out, &weighted); return in ? n : out;
	}
	return 0;
}

/* Ranks from which this rank gets data in a neighbourhood collective; returns their number. */
static int sources_of(const struct vcomm *comm, int *sources)
{
	int kind, n = 0, out = comm_neighbors(comm, false), in = comm_neighbors(comm, true);
	int *other = needed(calloc(in + 2 * out + 1, sizeof(int))); /* weights and destinations */

	PMPI_Topo_test(comm->o.real, &kind);
	if (kind == MPI_CART)
		for (; n < in; n += 2)
			PMPI_Cart_shift(comm->o.real, n / 2, 1, &sources[n], &sources[n + 1]);
	else if (kind == MPI_GRAPH && PMPI_Graph_neighbors(comm->o.real, comm->rank, in, sources) == MPI_SUCCESS)
		n = in;
	else if (kind == MPI_DIST_GRAPH && PMPI_Dist_graph_neighbors(comm->o.real, in, sources, other, out, other + in,
								     other + in + out) == MPI_SUCCESS)
		n = in;
	free(other);
	return n;
}

bool topology_text(const struct vcomm *comm, char *text, size_t size)
{
	int in = comm_neighbors(comm, true), room = (int)size - 16;
	int len = snprintf(text, size, "neighbors=%u ranks=", comm->o.id);
	int kind = MPI_UNDEFINED, *sources, n;

	if (comm->o.real)
		PMPI_Topo_test(comm->o.real, &kind);
	if (kind == MPI_UNDEFINED)
		return false;
	sources = needed(calloc(in + 1, sizeof(int)));
	n = sources_of(comm, sources);
	for (int i = 0; i < n && len < room; i++)
		if (sources[i] != MPI_PROC_NULL)
			len += snprintf(text + len, size - len, "%d,", comm_world_rank(comm, sources[i]));
	free(sources);
	return len < room; /* false: too many for the text */
}

static void put_neighbors(void *upper, int room, int n)
{
	if (upper == (void *)MPI_UNWEIGHTED || upper == (void *)MPI_WEIGHTS_EMPTY)
		return;
	if ((uintptr_t)upper > NO_ARRAY && room > 0 && n > 0)
		host->out(upper, (size_t)(n < room ? n : room) * sizeof(int));
}

/* comm, maxindegree, sources, sourceweights, maxoutdegree, destinations, destweights */
int64_t real_Dist_graph_neighbors(const uint64_t *a)
{
	struct vcomm *comm = comm_of(a[0]);
	int rc = PMPI_Dist_graph_neighbors(comm->o.real, (int)a[1], (int *)a[2], (int *)a[3], (int)a[4], (int *)a[5],
					   (int *)a[6]);
	int in = comm_neighbors(comm, true), out = comm_neighbors(comm, false);

	if (rc != MPI_SUCCESS)
		return rc;
	put_neighbors((void *)a[2], (int)a[1], in);
	put_neighbors((void *)a[3], (int)a[1], in);
	put_neighbors((void *)a[5], (int)a[4], out);
	put_neighbors((void *)a[6], (int)a[4], out);
	return rc;
}
