/* What a tool puts between a program and its MPI, as a library of its own or linked into the program. */
#include <mpi.h>

int calls;

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	calls++;
	return PMPI_Allreduce(from, to, count, type, op, comm); /* @passed-on */
}
