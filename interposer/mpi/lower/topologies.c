/* Communicators with a topology: their neighbours. */
#include "real.h"

#define NO_ARRAY 16 /* MPI_UNWEIGHTED and its like are small numbers */

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
