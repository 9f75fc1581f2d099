/* What the programs of the function families share: a failed check ends the job. */
#pragma once
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			MPI_Abort(MPI_COMM_WORLD, 9); \
		} \
	} while (0)
#define OK(call) CHECK((call) == MPI_SUCCESS)

static int rank, size;

static inline void begin(int *argc, char ***argv)
{
	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static inline int end(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
	printf("%d: good\n", rank);
	return MPI_Finalize();
}
