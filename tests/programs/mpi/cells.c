/* One cell of one rank turns NaN in one step; -1 appears in a buffer that is reached by a pointer. */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

enum { ROWS = 6, COLUMNS = 50, POINTS = 4096 };
struct chunk {
	int step;
	double density[ROWS][COLUMNS];
} chunk;
double *m_e;
int64_t ids[3] = {1, INT64_MAX - 1, INT64_MAX};
uint64_t marks[2] = {UINT64_MAX - 1, UINT64_MAX};
unsigned char bytes[9] = "123456789";
long double wide[2] = {1, 2};
float rising[20];
_Bool mask[4] = {1, 1, 0, 1};

static void update(int rank, int step)
{
	for (int i = 0; i < ROWS; i++)
		for (int j = 0; j < COLUMNS; j++)
			chunk.density[i][j] = 10 * i + j + step;
	if (rank == 1 && step >= 5)
		chunk.density[3][7] = sqrt(-1.0 * step); /* @nan */
	for (int i = 0; i < POINTS; i++)
		m_e[i] = i;
	if (rank == 1 && step >= 7)
		m_e[4000] = -1; /* @negative */
	chunk.step = step;
}

int main(int argc, char **argv)
{
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	m_e = malloc(POINTS * sizeof(*m_e));
	for (int i = 0; i < 20; i++)
		rising[i] = (float)i;
	for (int step = 0; step < 10; step++) {
		update(rank, step);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return 0;
}
