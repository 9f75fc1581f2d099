/* Ranks with threads: argv: funneled, shared or multiple, steps, gate.  One thread in MPI while others compute, with a
 * shared window or without; or three threads in MPI at once, each with a communicator of its own, in rings, exchanges,
 * collectives and waits. */
#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 3, LONG = 20000 };

static int rank, size, steps;
static const char *gate;
static volatile int over;

static uint64_t compute(uint64_t sum, int n)
{
	for (int k = 0; k < n; k++)
		sum = sum * 6364136223846793005u + 1442695040888963407u;
	return sum;
}

static void half(void)
{
	if (!rank) {
		printf("half\n");
		fflush(stdout);
	}
	while (access(gate, F_OK))
		usleep(1000);
}

static uint64_t exchange(MPI_Comm comm, uint64_t sum, int i)
{
	static __thread uint64_t out[LONG], in[LONG];
	const int next = (rank + 1) % size, before = (rank + size - 1) % size, many = i % 8 ? 16 : LONG;
	uint64_t got = 0, all = 0;
	MPI_Request request[2];

	out[0] = sum;
	switch (i % 4) {
	case 0:
		MPI_Irecv(in, many, MPI_UINT64_T, before, i, comm, &request[0]);
		MPI_Isend(out, many, MPI_UINT64_T, next, i, comm, &request[1]);
		MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
		got = in[0];
		break;
	case 1:
		MPI_Sendrecv(out, many, MPI_UINT64_T, next, i, in, many, MPI_UINT64_T, before, i, comm,
			     MPI_STATUS_IGNORE);
		got = in[0];
		break;
	case 2:
		if (rank) {
			MPI_Recv(in, 1, MPI_UINT64_T, before, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
			got = in[0];
		}
		MPI_Send(out, 1, MPI_UINT64_T, next, i, comm);
		if (!rank) {
			MPI_Recv(in, 1, MPI_UINT64_T, before, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
			got = in[0];
		}
		break;
	default: MPI_Allreduce(&sum, &got, 1, MPI_UINT64_T, MPI_BXOR, comm);
	}
	MPI_Allreduce(&got, &all, 1, MPI_UINT64_T, MPI_SUM, comm);
	return sum * 31 + got + all;
}

static void *helps(void *arg)
{
	uint64_t n = 0;

	while (!over) {
		n = compute(n, 10000);
		if (usleep(2000))
			abort(); /* EINTR would be told */
	}
	return arg;
}

static uint64_t funneled(void)
{
	uint64_t sum = rank;
	pthread_t helper;

	pthread_create(&helper, NULL, helps, NULL);
	for (int i = 0; i < steps; i++) {
		uint64_t part = 0;

#pragma omp parallel for reduction(^ : part) num_threads(2)
		for (int k = 0; k < 4; k++)
			part ^= compute(sum + k, 5000);
		if (i == steps / 2)
			half();
		sum = exchange(MPI_COMM_WORLD, sum ^ part, i);
	}
	over = 1;
	pthread_join(helper, NULL);
	return sum;
}

static MPI_Comm own[THREADS];
static uint64_t sums[THREADS];

static void *in_mpi(void *arg)
{
	const long self = (long)arg;

	sums[self] = rank + 100 * self;
	for (int i = 0; i < steps; i++) {
		if (i == steps / 2 && !self)
			half();
		sums[self] = compute(exchange(own[self], sums[self], i + (int)self), 2000);
	}
	return NULL;
}

static uint64_t multiple(void)
{
	pthread_t thread[THREADS];
	uint64_t sum = 0;

	for (int i = 0; i < THREADS; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
	for (long i = 1; i < THREADS; i++)
		pthread_create(&thread[i], NULL, in_mpi, (void *)i);
	in_mpi(NULL);
	for (int i = 1; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < THREADS; i++)
		sum = sum * 31 + sums[i];
	return sum;
}

/* What the next rank has in its part of the window. */
static uint64_t shared(uint64_t (*work)(void))
{
	uint64_t *mine, *next, got;
	MPI_Aint bytes;
	MPI_Win win;
	int unit;

	MPI_Win_allocate_shared(sizeof(*mine), sizeof(*mine), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
	MPI_Win_shared_query(win, (rank + 1) % size, &bytes, &unit, &next);
	*mine = 7 + rank;
	const uint64_t sum = work();
	*mine = *mine * 31 + sum;
	MPI_Win_fence(0, win);
	got = *next;
	MPI_Win_free(&win);
	return sum * 31 + got;
}

int main(int argc, char **argv)
{
	int provided, wanted;

	if (argc < 4)
		return 2;
	const char *level = argv[1];
	wanted = strcmp(level, "multiple") ? MPI_THREAD_FUNNELED : MPI_THREAD_MULTIPLE;
	steps = atoi(argv[2]);
	gate = argv[3];
	MPI_Init_thread(&argc, &argv, wanted, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (provided < wanted)
		return 3;
	uint64_t sum = wanted == MPI_THREAD_MULTIPLE ? multiple()
		       : strcmp(level, "shared")     ? funneled()
						     : shared(funneled);
	printf("rank %d sum %lu\n", rank, (unsigned long)sum);
	MPI_Finalize();
	return 0;
}
