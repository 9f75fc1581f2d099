/* Threads of neighbouring ranks play ping-pong, each pair with its own tag and its own way of waiting. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 40, LONGEST = 3000, WAYS = 8 };

static int rank, size, peer;
static unsigned sums[WAYS];

static void begin(int way, int *out, int *in, int count, MPI_Request request[2])
{
	MPI_Irecv(in, LONGEST, MPI_INT, peer, way, MPI_COMM_WORLD, &request[0]);
	MPI_Isend(out, count, MPI_INT, peer, way, MPI_COMM_WORLD, &request[1]);
}

static void exchange(int way, int *out, int *in, int count)
{
	MPI_Request request[2];
	MPI_Status status;
	MPI_Message message;
	int index, done, indices[2];

	switch (way) {
	case 0: /* blocking calls, who begins alternates with the rank */
		if (rank < peer)
			MPI_Send(out, count, MPI_INT, peer, way, MPI_COMM_WORLD);
		MPI_Recv(in, LONGEST, MPI_INT, peer, way, MPI_COMM_WORLD, &status);
		if (rank > peer)
			MPI_Send(out, count, MPI_INT, peer, way, MPI_COMM_WORLD);
		return;
	case 1:
		if (rank > peer)
			MPI_Ssend(out, count, MPI_INT, peer, way, MPI_COMM_WORLD);
		MPI_Probe(peer, way, MPI_COMM_WORLD, &status);
		MPI_Recv(in, LONGEST, MPI_INT, status.MPI_SOURCE, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (rank < peer)
			MPI_Ssend(out, count, MPI_INT, peer, way, MPI_COMM_WORLD);
		return;
	case 2:
		MPI_Sendrecv(out, count, MPI_INT, peer, way, in, LONGEST, MPI_INT, peer, way, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
		return;
	case 3:
		begin(way, out, in, count, request);
		MPI_Wait(&request[0], &status);
		MPI_Wait(&request[1], MPI_STATUS_IGNORE);
		return;
	case 4:
		begin(way, out, in, count, request);
		MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
		return;
	case 5:
		begin(way, out, in, count, request);
		MPI_Waitany(2, request, &index, MPI_STATUS_IGNORE);
		MPI_Waitany(2, request, &index, MPI_STATUS_IGNORE);
		return;
	case 6:
		begin(way, out, in, count, request);
		for (int left = 2; left; left -= done)
			MPI_Waitsome(2, request, &done, indices, MPI_STATUSES_IGNORE);
		return;
	case 7:
		MPI_Isend(out, count, MPI_INT, peer, way, MPI_COMM_WORLD, &request[1]);
		MPI_Mprobe(peer, way, MPI_COMM_WORLD, &message, &status);
		MPI_Mrecv(in, LONGEST, MPI_INT, &message, MPI_STATUS_IGNORE);
		for (done = 0; !done;)
			MPI_Test(&request[1], &done, MPI_STATUS_IGNORE);
		return;
	}
}

static void *play(void *arg)
{
	int way = (int)(long)arg;
	int *out = calloc(2 * LONGEST, sizeof(int)), *in = out + LONGEST;
	unsigned sum = way;

	for (int round = 0; round < ROUNDS; round++) {
		int count = round % 4 == 3 ? LONGEST : 1 + round;

		for (int i = 0; i < count; i++)
			out[i] = (int)(sum + i + rank);
		exchange(way, out, in, count);
		for (int i = 0; i < count; i++)
			sum = sum * 31 + (unsigned)in[i];
	}
	sums[way] = sum;
	free(out);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[WAYS];
	int level, first = argc > 1 ? atoi(argv[1]) : 0, last = argc > 2 ? atoi(argv[2]) : WAYS - 1;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (level != MPI_THREAD_MULTIPLE)
		MPI_Abort(MPI_COMM_WORLD, 3);
	peer = rank ^ 1;
	if (peer < size) {
		for (int way = first; way < last; way++)
			pthread_create(&thread[way], NULL, play, (void *)(long)way);
		play((void *)(long)last);
		for (int way = first; way < last; way++)
			pthread_join(thread[way], NULL);
	}
	for (int way = first; way <= last; way++)
		printf("rank %d way %d %08x\n", rank, way, sums[way]);
	MPI_Finalize();
	return 0;
}
