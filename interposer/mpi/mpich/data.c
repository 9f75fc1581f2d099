/* Data and internal functions of MPICH's library that programs and MPICH's Fortran library refer to. */
#include "shim.h"

struct f08_status {
	int words[5];
};

static int unweighted, weights_empty;
EXPORT int *MPIR_C_MPI_UNWEIGHTED, *MPIR_C_MPI_WEIGHTS_EMPTY; /* module mpi_f08's, whose library has its own */
EXPORT int MPIR_F08_MPI_BOTTOM, MPIR_F08_MPI_IN_PLACE;
EXPORT struct f08_status MPIR_F08_MPI_STATUSES_IGNORE_OBJ[1], MPIR_F08_MPI_STATUS_IGNORE_OBJ;
EXPORT int *const MPI_UNWEIGHTED = &unweighted, *const MPI_WEIGHTS_EMPTY = &weights_empty;
EXPORT MPI_Fint *MPI_F_STATUS_IGNORE, *MPI_F_STATUSES_IGNORE;
EXPORT struct f08_status *MPI_F08_STATUS_IGNORE = &MPIR_F08_MPI_STATUS_IGNORE_OBJ;
EXPORT struct f08_status *MPI_F08_STATUSES_IGNORE = MPIR_F08_MPI_STATUSES_IGNORE_OBJ;
EXPORT void *const MPI_T_PVAR_ALL_HANDLES = (void *)-1;

__attribute__((constructor)) static void weights_of_fortran(void)
{
	MPIR_C_MPI_UNWEIGHTED = &unweighted;
	MPIR_C_MPI_WEIGHTS_EMPTY = &weights_empty;
}

const void *shim_weights_in(const void *weights)
{
	enum { CORE_UNWEIGHTED = 2, CORE_WEIGHTS_EMPTY = 3 };

	if (weights == MPI_UNWEIGHTED)
		return (const void *)CORE_UNWEIGHTED;
	return weights == MPI_WEIGHTS_EMPTY ? (const void *)CORE_WEIGHTS_EMPTY : weights;
}

/* MPI_DUP_FN, MPI_COMM_DUP_FN, MPI_TYPE_DUP_FN, MPI_WIN_DUP_FN. */
EXPORT int MPIR_Dup_fn(int, int, void *, void *, void *, int *);
EXPORT int MPIR_Dup_fn(int handle, int keyval, void *extra, void *in, void *out, int *flag)
{
	*(void **)out = in;
	*flag = 1;
	return MPI_SUCCESS;
}
