/* Reads a large window again and again in one epoch, and tells whether that takes memory. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { BYTES = 1 << 20, FIRST = 8, TURNS = 64 };

static long resident(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%*d %ld", &pages) != 1)
		perror("statm");
	if (f)
		fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

int main(void)
{
	static char memory[BYTES], in[BYTES];
	MPI_Request request;
	long before = 0;
	MPI_Win win;

	MPI_Init(NULL, NULL);
	MPI_Win_create(memory, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_lock_all(0, win);
	for (int i = 0; i < TURNS; i++) {
		MPI_Rget(in, BYTES, MPI_CHAR, 0, 0, BYTES, MPI_CHAR, win, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		if (i == FIRST)
			before = resident();
	}
	puts(resident() - before < TURNS / 4 * BYTES ? "stays" : "grows");
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
