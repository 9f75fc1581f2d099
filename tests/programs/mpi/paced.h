/* Put before a program (-include): as long as the file PACE is there, it takes PACE_TENTHS of a second wherever all ranks
 * meet, so that there are moments to choose from; and -DFIELD=... has each rank print a checksum of its field at the end. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static void paced(void)
{
	for (int i = 0; i < PACE_TENTHS && access(PACE, F_OK) == 0; i++)
		usleep(100000);
}

#define MPI_Barrier(comm) (paced(), MPI_Barrier(comm))
#define MPI_Win_fence(hints, win) (paced(), MPI_Win_fence(hints, win))
#define MPI_Sendrecv(...) (paced(), MPI_Sendrecv(__VA_ARGS__))

#ifdef FIELD
static void print_field(int rank, const void *field, size_t bytes)
{
	const unsigned char *at = field;
	unsigned long sum = 14695981039346656037u; /* FNV-1a */

	for (size_t i = 0; at && i < bytes; i++)
		sum = (sum ^ at[i]) * 1099511628211u;
	printf("rank %d has %lx\n", rank, sum);
	fflush(stdout);
}
#define MPI_Finalize() (print_field(rank, FIELD), MPI_Finalize())
#endif
