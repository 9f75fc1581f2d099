/* For restarts: one thread receives while another one sends and takes part in collectives. */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
enum { ROUNDS = 30 };
static int rank, size;
static uint64_t got;
static uint64_t mix(uint64_t x)
{
	for (int i = 0; i < 3000; i++)
		x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15u + 1;
	return x;
}
static void *receiver(void *arg)
{
	uint64_t v;
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Recv(&v, 1, MPI_UINT64_T, (rank + size - 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		got = got * 31 + mix(v);
	}
	return arg;
}
int main(int argc, char **argv)
{
	int have;
	pthread_t t;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &have);
	if (have < MPI_THREAD_MULTIPLE)
		return 3;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	pthread_create(&t, NULL, receiver, NULL);
	uint64_t sum = 0, all;
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t v = mix((uint64_t)(i + rank * 100));
		MPI_Send(&v, 1, MPI_UINT64_T, (rank + 1) % size, 7, MPI_COMM_WORLD);
		if (i % 5 == 0) {
			MPI_Allreduce(&v, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
			sum += all;
		}
	}
	pthread_join(t, NULL);
	int main_thread;
	MPI_Is_thread_main(&main_thread);
	uint64_t total;
	sum += got;
	MPI_Reduce(&sum, &total, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
	if (!rank)
		printf("total %016lx, main %d\n", total, main_thread);
	MPI_Finalize();
	return 0;
}
