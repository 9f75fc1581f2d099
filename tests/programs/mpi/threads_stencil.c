/* MPI between ranks, OpenMP inside: only the main thread calls MPI. */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 96, ROWS = 24, STEPS = 40 };

static double now[ROWS + 2][WIDTH], next[ROWS + 2][WIDTH];

int main(int argc, char **argv)
{
	int rank, size, level;
	double change = 0, total = 0;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	int up = rank ? rank - 1 : MPI_PROC_NULL, down = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
	for (int k = 0; k < WIDTH; k++)
		now[1][k] = rank == 0 ? 100 : 0;
	for (int step = 0; step < STEPS; step++) {
		MPI_Request request[4];
		MPI_Irecv(now[0], WIDTH, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, &request[0]);
		MPI_Irecv(now[ROWS + 1], WIDTH, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &request[1]);
		MPI_Isend(now[1], WIDTH, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &request[2]);
		MPI_Isend(now[ROWS], WIDTH, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, &request[3]);
		MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
		change = 0;
#pragma omp parallel for reduction(+ : change) num_threads(3)
		for (int i = 1; i <= ROWS; i++)
			for (int k = 1; k < WIDTH - 1; k++) {
				next[i][k] = (now[i - 1][k] + now[i + 1][k] + now[i][k - 1] + now[i][k + 1]) / 4;
				change += (next[i][k] - now[i][k]) * (next[i][k] - now[i][k]);
			}
#pragma omp parallel for num_threads(3)
		for (int i = 1; i <= ROWS; i++)
			for (int k = 1; k < WIDTH - 1; k++)
				now[i][k] = next[i][k];
		MPI_Allreduce(&change, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	if (rank == 0)
		printf("change %.6e\n", total);
	MPI_Finalize();
	return 0;
}
