/* Datatypes, taken apart by MPI_Type_get_contents. */
#include "together_bytes.h"

static const int combiners[] = {
	0,
	MPI_COMBINER_DUP,
	MPI_COMBINER_CONTIGUOUS,
	MPI_COMBINER_VECTOR,
	MPI_COMBINER_HVECTOR,
	MPI_COMBINER_INDEXED,
	MPI_COMBINER_HINDEXED,
	MPI_COMBINER_INDEXED_BLOCK,
	MPI_COMBINER_HINDEXED_BLOCK,
	MPI_COMBINER_STRUCT,
	MPI_COMBINER_SUBARRAY,
	MPI_COMBINER_DARRAY,
	MPI_COMBINER_RESIZED,
};

enum { COMBINERS = sizeof(combiners) / sizeof(*combiners), PREDEFINED = -1, UNKNOWN = -2 };

void put_type(struct bytes *out, MPI_Datatype type)
{
	int ni = 0, na = 0, nt = 0, combiner = 0, code = 1;

	for (uint32_t id = RDB_NULL_ID; id < RDB_FIRST_DYNAMIC; id++) {
		const struct vobject *one = object_of(RDB_TYPE, id);

		if (one->id == id && one->real == BITS(type)) {
			put_number(out, PREDEFINED);
			put_number(out, id);
			return;
		}
	}
	PMPI_Type_get_envelope(type, &ni, &na, &nt, &combiner);
	while (code < COMBINERS && combiners[code] != combiner)
		code++;
	if (code == COMBINERS) {
		put_number(out, UNKNOWN);
		return;
	}
	int *i = calloc((size_t)ni + 1, sizeof(*i));
	MPI_Aint *a = calloc((size_t)na + 1, sizeof(*a));
	MPI_Datatype *t = calloc((size_t)nt + 1, sizeof(*t));

	if (!i || !a || !t)
		host->fatal("out of memory for a checkpoint");
	PMPI_Type_get_contents(type, ni, na, nt, i, a, t);
	put_number(out, code);
	/* the order of dimensions, and how an array is dealt out, are constants of the MPI */
	if (combiner == MPI_COMBINER_SUBARRAY)
		i[ni - 1] = i[ni - 1] == MPI_ORDER_C;
	put_ints(out, i, ni);
	put_number(out, na);
	for (int k = 0; k < na; k++)
		put_number(out, a[k]);
	put_number(out, nt);
	for (int k = 0; k < nt; k++) {
		int x, y, z, named = MPI_COMBINER_NAMED;

		put_type(out, t[k]);
		PMPI_Type_get_envelope(t[k], &x, &y, &z, &named);
		if (named != MPI_COMBINER_NAMED)
			PMPI_Type_free(&t[k]);
	}
	free(i);
	free(a);
	free(t);
}

static MPI_Datatype make_type(struct bytes *in, int combiner, const int *i, const MPI_Aint *a, const MPI_Datatype *t)
{
	MPI_Datatype made = MPI_DATATYPE_NULL;
	const int n = i[0];
	int rc = MPI_ERR_TYPE;

	switch (combiner) {
	case MPI_COMBINER_DUP: rc = PMPI_Type_dup(t[0], &made); break;
	case MPI_COMBINER_CONTIGUOUS: rc = PMPI_Type_contiguous(n, t[0], &made); break;
	case MPI_COMBINER_VECTOR: rc = PMPI_Type_vector(n, i[1], i[2], t[0], &made); break;
	case MPI_COMBINER_HVECTOR: rc = PMPI_Type_create_hvector(n, i[1], a[0], t[0], &made); break;
	case MPI_COMBINER_INDEXED: rc = PMPI_Type_indexed(n, i + 1, i + 1 + n, t[0], &made); break;
	case MPI_COMBINER_HINDEXED: rc = PMPI_Type_create_hindexed(n, i + 1, a, t[0], &made); break;
	case MPI_COMBINER_INDEXED_BLOCK: rc = PMPI_Type_create_indexed_block(n, i[1], i + 2, t[0], &made); break;
	case MPI_COMBINER_HINDEXED_BLOCK: rc = PMPI_Type_create_hindexed_block(n, i[1], a, t[0], &made); break;
	case MPI_COMBINER_STRUCT: rc = PMPI_Type_create_struct(n, i + 1, a, t, &made); break;
	case MPI_COMBINER_SUBARRAY:
		rc = PMPI_Type_create_subarray(n, i + 1, i + 1 + n, i + 1 + 2 * n,
					       i[1 + 3 * n] ? MPI_ORDER_C : MPI_ORDER_FORTRAN, t[0], &made);
		break;
	case MPI_COMBINER_DARRAY:
		rc = PMPI_Type_create_darray(n, i[1], i[2], i + 3, i + 3 + i[2], i + 3 + 2 * i[2], i + 3 + 3 * i[2],
					     i[3 + 4 * i[2]], t[0], &made);
		break;
	case MPI_COMBINER_RESIZED: rc = PMPI_Type_create_resized(t[0], a[0], a[1], &made); break;
	}
	in->bad |= rc != MPI_SUCCESS;
	return made;
}

MPI_Datatype get_type(struct bytes *in, bool *own)
{
	int64_t code = get_number(in), ni, na, nt;
	MPI_Datatype made;

	*own = false;
	if (code == PREDEFINED)
		return REAL(MPI_Datatype, object_of(RDB_TYPE, (uint64_t)get_number(in))->real);
	if (in->bad || code <= 0 || code >= COMBINERS) {
		in->bad = true;
		return MPI_DATATYPE_NULL;
	}
	int *i = get_ints(in, &ni);

	na = get_number(in);
	MPI_Aint *a = room_for(in, na, sizeof(*a));

	for (int64_t k = 0; k < na && !in->bad; k++)
		a[k] = (MPI_Aint)get_number(in);
	nt = get_number(in);
	MPI_Datatype *t = room_for(in, nt, sizeof(*t));
	bool *owned = room_for(in, nt, sizeof(*owned));

	for (int64_t k = 0; k < nt && !in->bad; k++)
		t[k] = get_type(in, &owned[k]);
	made = in->bad ? MPI_DATATYPE_NULL : make_type(in, combiners[code], i, a, t);
	for (int64_t k = 0; k < nt && !in->bad; k++) {
		if (owned[k])
			PMPI_Type_free(&t[k]);
	}
	if (!in->bad)
		PMPI_Type_commit(&made);
	*own = true;
	free(i);
	free(a);
	free(t);
	free(owned);
	return made;
}
