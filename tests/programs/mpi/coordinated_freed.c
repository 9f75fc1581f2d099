/* Ranks free a communicator, one with a receive pending there, while the last rank has not begun the last collective on
 * it.  argv: two files, for which that rank waits before and after it frees the communicator. */
#include "check.h"
#include <unistd.h>

static void wait_for(const char *gate, const char *say)
{
	puts(say);
	fflush(stdout);
	while (access(gate, F_OK))
		usleep(10000);
}

int main(int argc, char **argv)
{
	MPI_Request request;
	MPI_Comm comm;
	int value, in = 0, last;

	begin(&argc, &argv);
	last = size - 1;
	value = rank ? 0 : 42;
	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
	if (rank != last) {
		if (!rank)
			OK(MPI_Irecv(&in, 1, MPI_INT, last, 7, comm, &request));
		OK(MPI_Bcast(&value, 1, MPI_INT, 0, comm));
		OK(MPI_Comm_free(&comm));
		if (!rank) {
			OK(MPI_Send(NULL, 0, MPI_INT, last, 9, MPI_COMM_WORLD));
			OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
		}
		OK(MPI_Recv(&value, 1, MPI_INT, last, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	} else {
		OK(MPI_Recv(NULL, 0, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
		wait_for(argv[1], "before");
		OK(MPI_Ssend(&(int){7}, 1, MPI_INT, 0, 7, comm));
		OK(MPI_Bcast(&value, 1, MPI_INT, 0, comm));
		OK(MPI_Comm_free(&comm));
		wait_for(argv[2], "after");
		for (int i = 0; i < last; i++)
			OK(MPI_Send(&value, 1, MPI_INT, i, 8, MPI_COMM_WORLD));
	}
	printf("rank %d sum %d\n", rank, value + in);
	return MPI_Finalize();
}
