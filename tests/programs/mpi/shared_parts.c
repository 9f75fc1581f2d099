/* Shared windows in which ranks have nothing, with and without gaps between the parts: says which parts have an
 * address, and where. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>

enum { BYTES = 100 };

static void ask(MPI_Win win, int rank, const char *first)
{
	MPI_Aint size = -1;
	int unit = 0;
	char *base = (char *)1;
	MPI_Win_shared_query(win, rank, &size, &unit, &base);
	if (base)
		printf(" %ld bytes at %ld,", (long)size, (long)(first ? base - first : 0));
	else
		printf(" %ld bytes nowhere,", (long)size);
}

static void window(int rank, int ranks, bool gaps, bool any)
{
	MPI_Info info = MPI_INFO_NULL;
	MPI_Win win;
	MPI_Aint size = any && rank % 2 ? BYTES : 0, *told, unused;
	char *own = (char *)1, *first = NULL;
	void *base;
	int unit, flag;
	if (gaps) {
		MPI_Info_create(&info);
		MPI_Info_set(info, "alloc_shared_noncontig", "true");
	}
	MPI_Win_allocate_shared(size, 1, info, MPI_COMM_WORLD, &own, &win);
	if (own && size)
		own[0] = own[size - 1] = (char)rank;
	MPI_Win_shared_query(win, MPI_PROC_NULL, &unused, &unit, &first);
	MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
	MPI_Win_get_attr(win, MPI_WIN_SIZE, &told, &flag);
	if (!rank) {
		printf("gaps %d, any %d: own %s, base %s, size %ld;", gaps, any, own ? "there" : "nowhere",
		       base ? "there" : "nowhere", (long)*told);
		ask(win, MPI_PROC_NULL, first);
		for (int other = 0; other < ranks; other++)
			ask(win, other, first);
		printf("\n");
	}
	if (gaps)
		MPI_Info_free(&info);
	MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
	int rank, ranks;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int way = 0; way < 4; way++)
		window(rank, ranks, way & 1, way & 2);
	MPI_Finalize();
	return 0;
}
