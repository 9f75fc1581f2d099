/* Address of a window's memory in the real MPI.  Some MPICHs move it: over UCX 1.13 and later, MPICH 4.0 rounds the
 * address down, and data that others put arrives beside the window.  Our public copies begin at addresses that such an
 * MPI does not round; the process ends if a window was moved nevertheless. */
#include <stdint.h>
#include "lower/objects/real.h"
#include "lower/windows/windows.h"

static char *base_of(MPI_Win real)
{
	char *base = NULL;
	int there = 0;

	if (PMPI_Win_get_attr(real, MPI_WIN_BASE, (void *)&base, &there) != MPI_SUCCESS || !there)
		return NULL;
	return base;
}

#ifdef OPEN_MPI
size_t window_alignment(void)
{
	return 1;
}
#else
/* Finds the alignment with a window of our own, shortly before a page's end, which is moved furthest. */
static size_t probe(void)
{
	enum { LINE = 4096, LAST = LINE - 4 };
	static char room[2 * LINE] __attribute__((aligned(LINE)));
	size_t alignment = 1, moved = 0;
	MPI_Win win;
	char *base;

	if (PMPI_Win_create(room + LAST, 4, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win) != MPI_SUCCESS)
		return alignment;
	base = base_of(win);
	if (base && base <= room + LAST && base >= room)
		moved = (size_t)(room + LAST - base);
	PMPI_Win_free(&win);
	while (alignment < moved)
		alignment *= 2;
	return alignment;
}

size_t window_alignment(void)
{
	static size_t alignment;

	if (!alignment)
		alignment = probe();
	return alignment;
}
#endif

void window_placed(MPI_Win real, const char *public, const char *function)
{
	if (base_of(real) != public)
		host->fatal("%s: the MPI library has not placed the window at the address that rdb asked for; try "
			    "another MPI (rdb run --mpi=...)",
			    function);
}
