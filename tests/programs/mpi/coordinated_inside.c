/* Rank 2 waits in a collective that the others have not begun: these exchange messages until a test makes a file.
 * argv: gate.  First in MPI_Allreduce with MPI_IN_PLACE (until GATE-0 is there), then as a receiver of MPI_Bcast (until
 * GATE-1).  argv[2], if given: MPI_THREAD_MULTIPLE, of which "one" or "several" threads make use.  Each rank prints a
 * sum that tells whether anything was lost or came twice. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int there(const char *gate, int phase)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s-%d", gate, phase);
	return access(path, F_OK) == 0;
}

/* Ranks 0 and 1, and one at the end of a line of ranks, which receives from nobody. */
static void exchange(int rank, const char *gate, int phase)
{
	int over = 0;

	if (rank > 1)
		return;
	while (!over) {
		int out = rank == 0 && there(gate, phase), in = 0, none = 0;
		MPI_Request line;

		MPI_Irecv(&none, 1, MPI_INT, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &line);
		MPI_Sendrecv(&out, 1, MPI_INT, 1 - rank, 1, &in, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
		MPI_Wait(&line, MPI_STATUS_IGNORE);
		over = rank == 0 ? out : in;
		usleep(1000);
	}
}

static void *calls(void *size)
{
	MPI_Comm_size(MPI_COMM_WORLD, size);
	return NULL;
}

/* A second thread calls MPI, if `which` says so. */
static int other_thread(const char *which)
{
	pthread_t thread;
	int size;

	return !strcmp(which, "several") &&
	       (pthread_create(&thread, NULL, calls, &size) || pthread_join(thread, NULL));
}

int main(int argc, char **argv)
{
	long sum[2], told[3] = {0};
	int rank, level;

	MPI_Init_thread(NULL, NULL, argc > 2 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
	if (argc > 2 && (level != MPI_THREAD_MULTIPLE || other_thread(argv[2])))
		return 1;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	sum[0] = rank + 1;
	sum[1] = 10 * rank;
	if (rank == 0) {
		printf("phase 0\n");
		fflush(stdout);
	}
	exchange(rank, argv[1], 0);
	MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0) {
		printf("phase 1\n");
		fflush(stdout);
		told[0] = 1000;
		told[2] = sum[0];
	}
	exchange(rank, argv[1], 1);
	MPI_Bcast(told, 3, MPI_LONG, 0, MPI_COMM_WORLD);
	MPI_Reduce(rank ? told : MPI_IN_PLACE, told, 3, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	printf("rank %d sum %ld\n", rank, sum[0] + sum[1] * 7 + told[0] + told[2] * 3);
	MPI_Finalize();
	return 0;
}
