/* For restarts: ranks whose helpers are alive at a cut.  Each rank talks with a forked helper over pipes, and one has a
 * shell behind popen(3), which counts what it is told; what had ended before needs nothing. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TURNS = 5 };

static void helper(int in, int out)
{
	int got, sum = 0;

	while (read(in, &got, sizeof(got)) == sizeof(got)) {
		sum += got;
		if (write(out, &sum, sizeof(sum)) != sizeof(sum))
			_exit(99);
	}
	_exit(sum & 63);
}

int main(int argc, char **argv)
{
	int rank, size, to[2], from[2], sum = 0, all, status;
	FILE *piped = NULL;
	pid_t pid;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (system("exit 3") != 3 << 8) /* it has ended */
		return 1;
	MPI_Barrier(MPI_COMM_WORLD);
	if (pipe(to) || pipe(from))
		return 2;
	pid = fork();
	if (!pid) {
		close(to[1]);
		close(from[0]);
		helper(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	if (rank == size - 1)
		piped = popen("test $(wc -l) -eq 5", "w");
	for (int turn = 1; turn <= TURNS; turn++) {
		int give = turn * (rank + 1);

		if (write(to[1], &give, sizeof(give)) != sizeof(give) ||
		    read(from[0], &sum, sizeof(sum)) != sizeof(sum))
			return 3;
		if (piped && (fprintf(piped, "turn\n") < 0 || fflush(piped)))
			return 5;
		MPI_Allreduce(&sum, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	}
	if (piped && pclose(piped)) /* which has the helper's pipe, too */
		return 5;
	close(to[1]);
	if (waitpid(pid, &status, 0) != pid)
		return 4;
	printf("rank %d: %d of %d, status %d\n", rank, sum, all, WEXITSTATUS(status));
	fflush(stdout);
	MPI_Finalize();
	return WEXITSTATUS(status) == (15 * (rank + 1) & 63) ? 0 : 6;
}
