/* -u'' = f on a plane with hypre: conjugate gradients, preconditioned by algebraic multigrid.  The solution is written
 * with MPI-IO, and each rank looks at its neighbour's first value through a window.  `hypre_solver FILE`. */
#include <HYPRE.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>
#include <assert.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#undef NDEBUG
enum { N = 24 }; /* the plane has N * N unknowns */

int main(int argc, char **argv)
{
	HYPRE_IJMatrix ij;
	HYPRE_ParCSRMatrix matrix;
	HYPRE_IJVector ijb, ijx;
	HYPRE_ParVector b, x;
	HYPRE_Solver solver, preconditioner;
	int rank, size, first, last, iterations;
	double norm, *values, neighbour = -1, sum = 0, all;
	MPI_File file;
	MPI_Win win;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	HYPRE_Init();
	first = N * N * rank / size;
	last = N * N * (rank + 1) / size - 1;
	values = calloc(last - first + 1, sizeof(double));

	HYPRE_IJMatrixCreate(MPI_COMM_WORLD, first, last, first, last, &ij);
	HYPRE_IJMatrixSetObjectType(ij, HYPRE_PARCSR);
	HYPRE_IJMatrixInitialize(ij);
	for (int i = first; i <= last; i++) {
		int columns[5], n = 0;
		double row[5];

		for (int step = -N; step <= N; step += step == -N || step == 1 ? N - 1 : 1) {
			int j = i + step;

			if (j < 0 || j >= N * N || (step == -1 && i % N == 0) || (step == 1 && i % N == N - 1))
				continue;
			columns[n] = j;
			row[n++] = step ? -1 : 4;
		}
		HYPRE_IJMatrixSetValues(ij, 1, &n, &i, columns, row);
	}
	HYPRE_IJMatrixAssemble(ij);
	HYPRE_IJMatrixGetObject(ij, (void **)&matrix);
	HYPRE_IJVectorCreate(MPI_COMM_WORLD, first, last, &ijb);
	HYPRE_IJVectorSetObjectType(ijb, HYPRE_PARCSR);
	HYPRE_IJVectorInitialize(ijb);
	HYPRE_IJVectorCreate(MPI_COMM_WORLD, first, last, &ijx);
	HYPRE_IJVectorSetObjectType(ijx, HYPRE_PARCSR);
	HYPRE_IJVectorInitialize(ijx);
	for (int i = first; i <= last; i++) {
		double right = 1.0 / (N * N), zero = 0;

		HYPRE_IJVectorSetValues(ijb, 1, &i, &right);
		HYPRE_IJVectorSetValues(ijx, 1, &i, &zero);
	}
	HYPRE_IJVectorAssemble(ijb);
	HYPRE_IJVectorAssemble(ijx);
	HYPRE_IJVectorGetObject(ijb, (void **)&b);
	HYPRE_IJVectorGetObject(ijx, (void **)&x);

	HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &solver);
	HYPRE_PCGSetMaxIter(solver, 100);
	HYPRE_PCGSetTol(solver, 1e-10);
	HYPRE_PCGSetTwoNorm(solver, 1);
	HYPRE_BoomerAMGCreate(&preconditioner);
	HYPRE_BoomerAMGSetPrintLevel(preconditioner, 0);
	HYPRE_BoomerAMGSetRelaxType(preconditioner, 6);
	HYPRE_BoomerAMGSetNumSweeps(preconditioner, 1);
	HYPRE_BoomerAMGSetTol(preconditioner, 0.0);
	HYPRE_BoomerAMGSetMaxIter(preconditioner, 1);
	HYPRE_PCGSetPrecond(solver, (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSolve,
			    (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSetup, preconditioner);
	HYPRE_ParCSRPCGSetup(solver, matrix, b, x);
	HYPRE_ParCSRPCGSolve(solver, matrix, b, x);
	HYPRE_PCGGetNumIterations(solver, &iterations);
	HYPRE_PCGGetFinalRelativeResidualNorm(solver, &norm);
	assert(iterations < 30 && norm < 1e-10);

	for (int i = first; i <= last; i++)
		HYPRE_IJVectorGetValues(ijx, 1, &i, &values[i - first]);
	MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL);
	MPI_File_write_at_all(file, first, values, last - first + 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_create(values, (last - first + 1) * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD,
		       &win);
	MPI_Win_fence(0, win);
	MPI_Get(&neighbour, 1, MPI_DOUBLE, (rank + 1) % size, 0, 1, MPI_DOUBLE, win);
	MPI_Win_fence(0, win);
	MPI_File_read_at(file, N * N * ((rank + 1) % size) / size, &all, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
	assert(all == neighbour);
	MPI_Win_free(&win);
	MPI_File_close(&file);
	for (int i = first; i <= last; i++)
		sum += values[i - first];
	MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%d iterations, mean %.6f\n", iterations, all / (N * N));
	HYPRE_ParCSRPCGDestroy(solver);
	HYPRE_BoomerAMGDestroy(preconditioner);
	HYPRE_IJMatrixDestroy(ij);
	HYPRE_IJVectorDestroy(ijb);
	HYPRE_IJVectorDestroy(ijx);
	HYPRE_Finalize();
	free(values);
	MPI_Finalize();
	return 0;
}
