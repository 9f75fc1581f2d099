/* Rank 0 is ended while its threads and those of rank 1 are in MPI: ends_threads HOW ROUNDS */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, other;
static atomic_int rounds;

static void *plays(void *tag)
{
	static char out[20000];
	char *in = malloc(sizeof(out));
	for (;; rounds++)
		MPI_Sendrecv(out, sizeof(out), MPI_CHAR, other, *(int *)tag, in, sizeof(out), MPI_CHAR, other,
			     *(int *)tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void *waits(void *tag)
{
	int never;
	MPI_Recv(&never, 1, MPI_INT, other, *(int *)tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return NULL;
}

int main(int argc, char **argv)
{
	static int tags[] = {1, 2, 3};
	pthread_t busy, waiting;
	int level;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (argc != 3 || level != MPI_THREAD_MULTIPLE)
		MPI_Abort(MPI_COMM_WORLD, 99);
	other = !rank;
	pthread_create(&busy, NULL, plays, &tags[0]);
	pthread_create(&busy, NULL, plays, &tags[1]);
	pthread_create(&waiting, NULL, waits, &tags[2]);
	while (rank == 1 || rounds < atoi(argv[2]))
		usleep(100);
	if (!strcmp(argv[1], "busy"))
		pthread_kill(busy, SIGTERM);
	else if (!strcmp(argv[1], "waiting"))
		pthread_kill(waiting, SIGTERM);
	else if (!strcmp(argv[1], "itself"))
		raise(SIGTERM);
	else if (!strcmp(argv[1], "abort"))
		MPI_Abort(MPI_COMM_WORLD, 7);
	else if (!strcmp(argv[1], "exit"))
		_exit(5);
	for (;;)
		pause();
}
