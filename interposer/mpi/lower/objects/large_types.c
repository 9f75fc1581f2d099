/* MPI_Type_get_envelope_c and MPI_Type_get_contents_c. */
#include "lower/objects/large.h"

/* n: numbers of integers, addresses, large counts, datatypes. */
static int envelope(MPI_Datatype real, MPI_Count n[4], int *combiner)
{
#if LARGE_COUNTS
	return PMPI_Type_get_envelope_c(real, &n[0], &n[1], &n[2], &n[3], combiner);
#else
	int integers = 0, addresses = 0, datatypes = 0;
	int rc = PMPI_Type_get_envelope(real, &integers, &addresses, &datatypes, combiner);

	n[0] = integers;
	n[1] = addresses;
	n[3] = datatypes;
	return rc;
#endif
}

/* datatype, num_integers, num_addresses, num_large_counts, num_datatypes, combiner */
int64_t real_Type_get_envelope_c(const uint64_t *a)
{
	MPI_Datatype real = REAL(MPI_Datatype, type_of(a[0])->o.real);
	MPI_Count n[4] = {0};
	int combiner = 0, rc;

	rc = envelope(real, n, &combiner);
	if (rc != MPI_SUCCESS)
		return rc;
	for (int i = 0; i < 4; i++)
		put((void *)a[1 + i], &n[i], sizeof(n[i]));
	put((void *)a[5], &combiner, sizeof(combiner));
	return rc;
}

/* datatype, max_integers, max_addresses, max_large_counts, max_datatypes, integers, addresses, large_counts, datatypes */
int64_t real_Type_get_contents_c(const uint64_t *a)
{
	MPI_Datatype real = REAL(MPI_Datatype, type_of(a[0])->o.real);
	int64_t room = (int64_t)a[4] > 0 ? (int64_t)a[4] : 1;
	MPI_Datatype *types = needed(calloc((size_t)room, sizeof(*types)));
	void **upper = (void **)a[8];
	MPI_Count n[4] = {0};
	int combiner, rc;

	rc = envelope(real, n, &combiner);
#if LARGE_COUNTS
	if (rc == MPI_SUCCESS)
		rc = PMPI_Type_get_contents_c(real, (MPI_Count)a[1], (MPI_Count)a[2], (MPI_Count)a[3], (MPI_Count)a[4],
					      (int *)a[5], (MPI_Aint *)a[6], (MPI_Count *)a[7], types);
#else
	if (rc == MPI_SUCCESS)
		rc = PMPI_Type_get_contents(real, (int)a[1], (int)a[2], (int)a[4], (int *)a[5], (MPI_Aint *)a[6],
					    types);
#endif
	if (rc == MPI_SUCCESS) {
		contents_out(combiner, (int *)a[5], n[0]);
		if (n[0])
			host->out((void *)a[5], (size_t)n[0] * sizeof(int));
		if (n[1])
			host->out((void *)a[6], (size_t)n[1] * sizeof(MPI_Aint));
		if (n[2])
			host->out((void *)a[7], (size_t)n[2] * sizeof(MPI_Count));
		for (MPI_Count i = 0; i < n[3]; i++)
			put_handle(upper + i, RDB_TYPE, type_new(types[i])->o.id);
	}
	free(types);
	return rc;
}
