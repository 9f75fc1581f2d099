/* Two ranks with objects whose constants differ between MPIs, when a test makes a file: a distributed array in Fortran's
 * order, types of Fortran's kinds, and a receive from MPI_PROC_NULL that nobody has waited for.  argv: gate. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const int sizes[] = {5, 6}, kinds[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE}, grid[] = {2, 1};
	const int dargs[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
	int field[30], part[30] = {0}, rank, size, position = 0;
	MPI_Datatype array, real, pairs;
	MPI_Request request;
	MPI_Status status;
	long sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Type_create_darray(2, rank, 2, sizes, kinds, dargs, grid, MPI_ORDER_FORTRAN, MPI_INT, &array);
	MPI_Type_commit(&array);
	MPI_Type_create_f90_real(12, 100, &real);
	MPI_Type_contiguous(2, real, &pairs);
	MPI_Type_commit(&pairs);
	MPI_Irecv(field, 1, array, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &request);
	if (rank == 0) {
		puts("there");
		fflush(stdout);
	}
	while (access(argv[1], F_OK))
		usleep(1000);
	MPI_Wait(&request, &status);
	for (int i = 0; i < 30; i++)
		field[i] = i * i;
	MPI_Pack(field, 1, array, part, sizeof(part), &position, MPI_COMM_SELF);
	for (int i = 0; i < 30; i++)
		sum = sum * 7 % 1000003 + part[i];
	MPI_Type_size(real, &size);
	sum = sum * 100 + size;
	MPI_Type_size(pairs, &size);
	sum = sum * 100 + size;
	printf("rank %d sum %ld nobody %d %d\n", rank, sum, status.MPI_SOURCE == MPI_PROC_NULL,
	       status.MPI_TAG == MPI_ANY_TAG);
	MPI_Type_free(&array);
	MPI_Type_free(&pairs);
	MPI_Finalize();
	return 0;
}
