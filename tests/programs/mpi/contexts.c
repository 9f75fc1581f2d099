/* Messages on communicators that only some ranks have, or that ranks number differently: after a split that leaves rank
 * 0 out, MPI_Comm_create_group of ranks 1 and 2, two MPI_Comm_idup under way at once, an inter-communicator.  Each is
 * sent on once, with a tag of its own. */
#include <mpi.h>

static void pass(MPI_Comm comm, int rank, int from, int to, int tag)
{
	int value = tag;

	if (rank == from)
		MPI_Send(&value, 1, MPI_INT, to, tag, comm);
	if (rank == to)
		MPI_Recv(&value, 1, MPI_INT, from, tag, comm, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
	MPI_Comm part, whole, pair, copies[2], halves, across;
	MPI_Group world, two;
	MPI_Request begun[2];
	int rank, value = 0, members[] = {1, 2};

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_split(MPI_COMM_WORLD, rank ? 0 : MPI_UNDEFINED, 0, &part);
	MPI_Comm_dup(MPI_COMM_WORLD, &whole);
	pass(whole, rank, 0, 1, 1);
	if (rank) {
		MPI_Comm_group(MPI_COMM_WORLD, &world);
		MPI_Group_incl(world, 2, members, &two);
		MPI_Comm_create_group(MPI_COMM_WORLD, two, 5, &pair);
		pass(pair, rank - 1, 1, 0, 2);
	}
	MPI_Comm_idup(MPI_COMM_WORLD, &copies[0], &begun[0]);
	MPI_Comm_idup(whole, &copies[1], &begun[1]);
	for (int i = 0; i < 2; i++) /* told of in another order by rank 0 */
		MPI_Wait(&begun[rank ? i : 1 - i], MPI_STATUS_IGNORE);
	pass(copies[0], rank, 2, 0, 3);
	pass(copies[1], rank, 0, 2, 4);
	MPI_Comm_split(MPI_COMM_WORLD, rank != 0, rank, &halves);
	MPI_Intercomm_create(halves, 0, MPI_COMM_WORLD, rank ? 0 : 1, 9, &across);
	if (rank == 0)
		MPI_Send(&value, 1, MPI_INT, 1, 6, across);
	if (rank == 2)
		MPI_Recv(&value, 1, MPI_INT, 0, 6, across, MPI_STATUS_IGNORE);
	MPI_Finalize();
	return 0;
}
