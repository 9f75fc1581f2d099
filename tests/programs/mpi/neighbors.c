/* Topologies and their collectives. */
#include "check.h"

static int rank_in(MPI_Comm comm)
{
	int mine;

	MPI_Comm_rank(comm, &mine);
	return mine;
}

static void cartesian(void)
{
	int dims[2] = {size, 1}, periods[2] = {1, 0}, coords[2], left, right, back[2], topo, n, in[8], out[8] = {0};
	MPI_Comm cart, row;
	MPI_Request request;

	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart);
	MPI_Topo_test(cart, &topo);
	CHECK(topo == MPI_CART);
	MPI_Cartdim_get(cart, &n);
	CHECK(n == 2);
	MPI_Cart_get(cart, 2, dims, back, coords);
	CHECK(dims[0] == size && back[0] == 1 && back[1] == 0 && coords[0] == rank);
	MPI_Cart_rank(cart, coords, &n);
	CHECK(n == rank);
	MPI_Cart_shift(cart, 0, 1, &left, &right);
	CHECK(left == (rank + size - 1) % size && right == (rank + 1) % size);

	/* along the second dimension there is nobody: those places stay as they are */
	for (int i = 0; i < 8; i++)
		in[i] = -9;
	MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, cart);
	CHECK(in[0] == left && in[1] == right && in[2] == -9 && in[3] == -9 && in[4] == -9);
	for (int i = 0; i < 4; i++)
		out[i] = 10 * rank + i, in[i] = -9;
	MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, cart, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	if (size > 2)
		CHECK(in[0] == 10 * left + 1 && in[1] == 10 * right);
	CHECK(in[2] == -9 && in[3] == -9);
	MPI_Cart_sub(cart, (int[2]){0, 1}, &row);
	MPI_Comm_size(row, &n);
	CHECK(n == 1);
	MPI_Cart_map(MPI_COMM_WORLD, 1, &size, periods, &n);
	CHECK(n == rank);
	MPI_Comm_free(&row);
	MPI_Comm_free(&cart);
	dims[0] = dims[1] = 0;
	MPI_Dims_create(12, 2, dims);
	CHECK(dims[0] == 4 && dims[1] == 3);
}

/* A star around 0. */
static void graph(void)
{
	int index[8], edges[16], n, m, in[8], near[8], topo;
	MPI_Comm star;

	index[0] = size - 1;
	for (int i = 1; i < size; i++) {
		edges[i - 1] = i;
		index[i] = size - 1 + i;
		edges[size - 2 + i] = 0;
	}
	MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &star);
	MPI_Topo_test(star, &topo);
	MPI_Graphdims_get(star, &n, &m);
	CHECK(topo == MPI_GRAPH && n == size && m == 2 * (size - 1));
	MPI_Graph_get(star, 8, 16, near, in);
	CHECK(near[0] == size - 1 && in[0] == 1);
	MPI_Graph_neighbors_count(star, rank, &n);
	CHECK(n == (rank ? 1 : size - 1));
	MPI_Graph_neighbors(star, rank, n, near);
	memset(in, -1, sizeof(in));
	MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, star);
	for (int i = 0; i < n; i++)
		CHECK(in[i] == near[i]);
	CHECK(in[n] == -1);
	MPI_Graph_map(MPI_COMM_WORLD, size, index, edges, &m);
	MPI_Comm_free(&star);
}

/* i sends to i+1 and to i+2; counts differ. */
static void distributed(void)
{
	int to[2] = {(rank + 1) % size, (rank + 2) % size}, from[2] = {(rank + size - 1) % size, (rank + size - 2) % size};
	int weights[2] = {3, 4}, n, m, weighted, a[2], wa[2], b[2], wb[2];
	int out[4] = {10 * rank, 10 * rank + 1, 10 * rank + 2, 10 * rank + 3}, in[6], counts[2] = {1, 2}, places[2] = {0, 2};
	MPI_Aint sent[2] = {0, sizeof(int)}, got[2] = {sizeof(int), 3 * sizeof(int)};
	MPI_Datatype types[2] = {MPI_INT, MPI_INT};
	MPI_Request request;
	MPI_Comm comm, made;

	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from, weights, 2, to, weights, MPI_INFO_NULL, 0, &comm);
	MPI_Dist_graph_neighbors_count(comm, &n, &m, &weighted);
	CHECK(n == 2 && m == 2 && weighted);
	MPI_Dist_graph_neighbors(comm, 2, a, wa, 2, b, wb);
	CHECK(a[0] == from[0] && a[1] == from[1] && b[0] == to[0] && b[1] == to[1] && wa[1] == 4 && wb[0] == 3);

	memset(in, -1, sizeof(in));
	MPI_Neighbor_alltoallv(out, counts, (int[2]){0, 1}, MPI_INT, in, counts, places, MPI_INT, comm);
	CHECK(in[0] == 10 * from[0] && in[1] == -1 && in[2] == 10 * from[1] + 1 && in[3] == 10 * from[1] + 2);
	memset(in, -1, sizeof(in));
	MPI_Ineighbor_alltoallv(out, counts, (int[2]){0, 1}, MPI_INT, in, counts, places, MPI_INT, comm, &request);
	in[1] = 5; /* between the parts */
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(in[0] == 10 * from[0] && in[1] == 5 && in[3] == 10 * from[1] + 2);
	memset(in, -1, sizeof(in));
	MPI_Neighbor_alltoallw(out, counts, sent, types, in, counts, got, types, comm);
	CHECK(in[0] == -1 && in[1] == 10 * from[0] && in[2] == -1 && in[4] == 10 * from[1] + 2);
	memset(in, -1, sizeof(in));
	MPI_Ineighbor_alltoallw(out, counts, sent, types, in, counts, got, types, comm, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(in[0] == -1 && in[1] == 10 * from[0] && in[2] == -1 && in[4] == 10 * from[1] + 2);
	MPI_Neighbor_allgatherv(out, 1, MPI_INT, in, (int[2]){1, 1}, places, MPI_INT, comm);
	CHECK(in[2] == 10 * from[1]);
	MPI_Ineighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, comm, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(in[0] == from[0] && in[1] == from[1]);
	MPI_Ineighbor_allgatherv(out + 1, 1, MPI_INT, in, (int[2]){1, 1}, places, MPI_INT, comm, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(in[2] == 10 * from[1] + 1);
	MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm);
	CHECK(in[0] == 10 * from[0] && in[1] == 10 * from[1] + 1);

	MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, (int[1]){1}, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
	MPI_Dist_graph_neighbors_count(made, &n, &m, &weighted);
	CHECK(n == 1 && m == 1 && !weighted);
	MPI_Dist_graph_neighbors(made, 1, a, MPI_UNWEIGHTED, 1, b, MPI_UNWEIGHTED);
	CHECK(a[0] == from[0] && b[0] == to[0] && rank_in(made) == rank);
	MPI_Comm_free(&made);
	MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	cartesian();
	graph();
	distributed();
	return end();
}
