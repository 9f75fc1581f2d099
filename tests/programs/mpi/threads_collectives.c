/* One thread is in collectives, of another communicator, with an operation of the program's; one in
 * point-to-point calls; one receives parts of the matrix that the program writes to in between; one computes. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 6, N = 64 };

static int rank, size;
static MPI_Comm world, other;
static volatile int stop;
static unsigned long sums[4];
static int matrix[N][N]; /* even columns are received, odd ones computed */

struct pair {
	long value;
	char tag;
	double weight;
};

static void mix(void *in, void *inout, int *len, MPI_Datatype *type)
{
	const struct pair *a = in;
	struct pair *b = inout;

	for (int i = 0; i < *len; i++) {
		b[i].value = a[i].value * 3 + b[i].value; /* the order matters */
		b[i].weight += a[i].weight / 4;
		for (volatile int k = 0; k < 2000; k++)
			;
	}
}

static MPI_Datatype pair_type(void)
{
	struct pair p;
	MPI_Aint displacement[3] = {(char *)&p.value - (char *)&p, (char *)&p.tag - (char *)&p,
				    (char *)&p.weight - (char *)&p};
	int length[3] = {1, 1, 1};
	MPI_Datatype part[3] = {MPI_LONG, MPI_CHAR, MPI_DOUBLE}, made, type;

	MPI_Type_create_struct(3, length, displacement, part, &made);
	MPI_Type_create_resized(made, 0, sizeof(struct pair), &type);
	MPI_Type_commit(&type);
	MPI_Type_free(&made);
	return type;
}

static void *collectives(void *arg)
{
	MPI_Datatype type = pair_type();
	MPI_Comm inner, half;
	MPI_Op op;
	unsigned long sum = 0;

	MPI_Op_create(mix, 0, &op);
	for (int round = 0; round < ROUNDS; round++) {
		struct pair mine[5], all[5];
		int root = round % size, counts[16], places[16], numbers[16] = {0}, whole[64];

		memset(mine, 0, sizeof(mine));
		memset(all, 0, sizeof(all));
		for (int i = 0; i < 5; i++)
			mine[i] = (struct pair){.value = rank + i + round, .tag = 'x', .weight = i};
		MPI_Barrier(world);
		MPI_Allreduce(mine, all, 5, type, op, world);
		sum = sum * 31 + (unsigned long)all[round % 5].value + (unsigned long)all[4].weight;
		memset(all, 0, sizeof(all));
		MPI_Reduce(mine, all, 5, type, op, root, world);
		sum = sum * 31 + (unsigned long)all[0].value;
		MPI_Scan(mine, all, 5, type, op, world);
		sum = sum * 31 + (unsigned long)all[1].value;
		numbers[0] = round + rank;
		MPI_Bcast(numbers, 4, MPI_INT, root, world);
		for (int i = 0; i < size; i++) {
			counts[i] = i + 1;
			places[i] = i * (i + 1) / 2;
		}
		for (int i = 0; i <= rank; i++)
			numbers[i] = rank * 10 + i + numbers[0];
		memset(whole, 0, sizeof(whole));
		MPI_Allgatherv(numbers, rank + 1, MPI_INT, whole, counts, places, MPI_INT, world);
		MPI_Allreduce(MPI_IN_PLACE, whole, 4, MPI_INT, MPI_SUM, world);
		for (int i = 0; i < places[size - 1] + size; i++)
			sum = sum * 31 + (unsigned)whole[i];
		if (round % 5 == 0) {
			MPI_Comm_dup(world, &inner);
			MPI_Comm_split(inner, rank % 2, rank, &half);
			MPI_Allreduce(&rank, whole, 1, MPI_INT, MPI_MAX, half);
			sum = sum * 31 + (unsigned)whole[0];
			MPI_Comm_free(&half);
			MPI_Comm_free(&inner);
		}
	}
	MPI_Op_free(&op);
	MPI_Type_free(&type);
	sums[0] = sum;
	return NULL;
}

static void *neighbours(void *arg)
{
	int next = (rank + 1) % size, before = (rank + size - 1) % size, token[2] = {rank, 0};
	unsigned long sum = 0;
	MPI_Status status;

	for (int round = 0; round < 3 * ROUNDS; round++) {
		token[1] = round;
		if (rank % 2)
			MPI_Send(token, 2, MPI_INT, next, 7, MPI_COMM_WORLD);
		MPI_Probe(before, 7, MPI_COMM_WORLD, &status);
		int got[2];
		MPI_Recv(got, 2, MPI_INT, before, 7, MPI_COMM_WORLD, &status);
		if (rank % 2 == 0)
			MPI_Send(token, 2, MPI_INT, next, 7, MPI_COMM_WORLD);
		token[0] = got[0] + rank;
		sum = sum * 31 + (unsigned)got[0] + (unsigned)got[1];
	}
	sums[1] = sum;
	return NULL;
}

/* Even columns come from the neighbour, by a datatype with gaps; into the gaps others write meanwhile. */
static void *columns(void *arg)
{
	MPI_Datatype even;
	static int sent[N * N / 2];
	int next = (rank + 1) % size, before = (rank + size - 1) % size;
	unsigned long sum = 0;

	MPI_Type_vector(N * N / 2, 1, 2, MPI_INT, &even);
	MPI_Type_commit(&even);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < N * N / 2; i++)
			sent[i] = rank + round * i;
		if (round % 2)
			MPI_Sendrecv(sent, N * N / 2, MPI_INT, next, 9, matrix, 1, even, before, 9, MPI_COMM_WORLD,
				     MPI_STATUS_IGNORE);
		else
			MPI_Scatter(sent, 0, MPI_INT, matrix, 0, even, 0, other);
		if (round % 3 == 0)
			MPI_Bcast(matrix, 1, even, 0, other);
		for (int i = 0; i < N; i++)
			sum = sum * 31 + (unsigned)matrix[i][round % 32 * 2];
	}
	MPI_Type_free(&even);
	sums[2] = sum;
	return NULL;
}

static void *compute(void *arg)
{
	unsigned long done = 0, wrong = 0;

	while (!stop) {
		for (int i = 0; i < N; i++)
			for (int k = 1; k < N; k += 2)
				matrix[i][k] = (int)done + i + k;
		for (volatile int spin = 0; spin < 20000; spin++)
			;
		for (int i = 0; i < N; i++)
			for (int k = 1; k < N; k += 2)
				wrong += matrix[i][k] != (int)done + i + k;
		done++;
	}
	sums[3] = wrong;
	return NULL;
}

int main(int argc, char **argv)
{
	static void *(*const work[4])(void *) = {collectives, neighbours, columns, compute};
	pthread_t thread[4];
	int level;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_dup(MPI_COMM_WORLD, &world);
	MPI_Comm_dup(MPI_COMM_WORLD, &other);
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, work[i], NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	stop = 1;
	pthread_join(thread[3], NULL);
	printf("rank %d %lx %lx %lx wrong %lu\n", rank, sums[0], sums[1], sums[2], sums[3]);
	MPI_Comm_free(&world);
	MPI_Comm_free(&other);
	MPI_Finalize();
	return 0;
}
