/* The memory of a window is unmapped before MPI_Win_free. */
#include <sys/mman.h>
#include "check.h"

enum { SMALL = 4096, LARGE = 1 << 20 };

static void once(int bytes, int ours)
{
	int *memory, got = -1;
	MPI_Win win;

	if (ours)
		memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	else
		MPI_Alloc_mem(bytes, MPI_INFO_NULL, &memory);
	memory[0] = rank;
	MPI_Win_create(memory, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	MPI_Get(&got, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
	MPI_Win_fence(0, win);
	CHECK(got == (rank + 1) % size);
	if (ours)
		munmap(memory, (size_t)bytes);
	else
		MPI_Free_mem(memory);
	MPI_Barrier(MPI_COMM_WORLD);
	for (double end = MPI_Wtime() + 0.05; MPI_Wtime() < end;)
		;
	MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	for (int i = 0; i < 4; i++)
		once(i & 1 ? SMALL : LARGE, i & 2);
	return end();
}
