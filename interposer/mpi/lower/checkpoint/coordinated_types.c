/* Datatypes, decomposed by MPI_Type_get_contents. */
#include "lower/checkpoint/coordinated_state.h"
#include "lower/objects/translate.h"

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
	-1, /* subarrays and distributed arrays of an older rdb */
	-1,
	MPI_COMBINER_RESIZED,
	MPI_COMBINER_F90_REAL,
	MPI_COMBINER_F90_COMPLEX,
	MPI_COMBINER_F90_INTEGER,
	MPI_COMBINER_SUBARRAY,
	MPI_COMBINER_DARRAY,
};

/* Types of Fortran's kinds are MPI's own, which may not be freed. */
static bool may_be_freed(int combiner)
{
	return combiner != MPI_COMBINER_NAMED && combiner != MPI_COMBINER_F90_REAL &&
	       combiner != MPI_COMBINER_F90_COMPLEX && combiner != MPI_COMBINER_F90_INTEGER;
}

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
	/* an error if it was made with large counts */
	const int rc = PMPI_Type_get_envelope(type, &ni, &na, &nt, &combiner);

	while (code < COMBINERS && combiners[code] != combiner)
		code++;
	if (rc != MPI_SUCCESS || code == COMBINERS) {
		put_number(out, UNKNOWN);
		out->bad = true;
		return;
	}
	int *i = needed(calloc((size_t)ni + 1, sizeof(*i)));
	MPI_Aint *a = needed(calloc((size_t)na + 1, sizeof(*a)));
	MPI_Datatype *t = needed(calloc((size_t)nt + 1, sizeof(*t)));

	PMPI_Type_get_contents(type, ni, na, nt, i, a, t);
	put_number(out, code);
	contents_out(combiner, i, ni);
	put_ints(out, i, ni);
	put_number(out, na);
	for (int k = 0; k < na; k++)
		put_number(out, a[k]);
	put_number(out, nt);
	for (int k = 0; k < nt; k++) {
		int x, y, z, named = MPI_COMBINER_NAMED;

		put_type(out, t[k]);
		PMPI_Type_get_envelope(t[k], &x, &y, &z, &named);
		if (may_be_freed(named))
			PMPI_Type_free(&t[k]);
	}
	free(i);
	free(a);
	free(t);
}

bool type_known(MPI_Datatype type)
{
	struct bytes out = {0};

	put_type(&out, type);
	free(out.base);
	return !out.bad;
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
		rc = PMPI_Type_create_subarray(n, i + 1, i + 1 + n, i + 1 + 2 * n, i[1 + 3 * n], t[0], &made);
		break;
	case MPI_COMBINER_DARRAY:
		rc = PMPI_Type_create_darray(n, i[1], i[2], i + 3, i + 3 + i[2], i + 3 + 2 * i[2], i + 3 + 3 * i[2],
					     i[3 + 4 * i[2]], t[0], &made);
		break;
	case MPI_COMBINER_F90_REAL: rc = PMPI_Type_create_f90_real(n, i[1], &made); break;
	case MPI_COMBINER_F90_COMPLEX: rc = PMPI_Type_create_f90_complex(n, i[1], &made); break;
	case MPI_COMBINER_F90_INTEGER: rc = PMPI_Type_create_f90_integer(n, &made); break;
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
	if (!in->bad)
		contents_in(combiners[code], i, ni);
	made = in->bad ? MPI_DATATYPE_NULL : make_type(in, combiners[code], i, a, t);
	for (int64_t k = 0; k < nt && !in->bad; k++) {
		if (owned[k])
			PMPI_Type_free(&t[k]);
	}
	if (!in->bad)
		PMPI_Type_commit(&made);
	*own = may_be_freed(combiners[code]);
	free(i);
	free(a);
	free(t);
	free(owned);
	return made;
}
