/* probed_many THREADS: rank 0 finds messages of all others by each kind of probe of any source, in THREADS threads at
 * once, while receives of any source are pending.  The n-th message of rank R has 8 n + R bytes. */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum { MESSAGES = 24, TAG = 3, PENDING = 2, MOST = 8 * (MESSAGES + 1), THREADS = 4 };

static int share; /* of each thread */

static void *finds(void *unused)
{
	char buf[MOST];
	MPI_Message message;
	MPI_Status status;
	int flag;

	(void)unused;
	for (int i = 0; i < share; i++) {
		if (i % 2) {
			MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
		} else {
			do {
				sched_yield();
				MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
				MPI_Improbe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &flag, &message, &status);
			} while (!flag);
		}
		MPI_Mrecv(buf, MOST, MPI_BYTE, &message, &status);
	}
	return NULL;
}

static void receive(int senders, int threads)
{
	char buf[PENDING][MOST], spare[MOST];
	MPI_Request request[PENDING];
	MPI_Status status;
	pthread_t thread[THREADS];

	share = (senders * MESSAGES - PENDING) / threads;
	for (int i = 0; i < PENDING; i++)
		MPI_Irecv(buf[i], MOST, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &request[i]);
	MPI_Probe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status);
	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, finds, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	for (int left = senders * MESSAGES - PENDING - threads * share; left; left--)
		MPI_Recv(spare, MOST, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status);
	MPI_Waitall(PENDING, request, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
	char buf[MOST] = {0};
	int rank, size, level;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int n = 1; rank && n <= MESSAGES; n++) {
		sched_yield();
		MPI_Send(buf, 8 * n + rank, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
	}
	if (rank == 0)
		receive(size - 1, atoi(argv[1]));
	MPI_Finalize();
	return level != MPI_THREAD_MULTIPLE;
}
