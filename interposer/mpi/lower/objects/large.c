#include "lower/objects/large.h"

const uint8_t (*large_places)[LARGE_PLACES];

int large_missing(const char *name)
{
	host->fatal("%s: the count does not fit in an int, and the MPI library lacks functions with large counts",
		    name);
	abort();
}

static int contiguous(int64_t count, MPI_Datatype type, MPI_Datatype *made)
{
#if LARGE_COUNTS
	return PMPI_Type_contiguous_c(count, type, made);
#else
	enum { PIECE = 1 << 30 };
	MPI_Datatype piece, parts[2];
	MPI_Aint lb, extent, offsets[2] = {0};
	int rc;

	PMPI_Type_get_extent(type, &lb, &extent);
	offsets[1] = (MPI_Aint)(count / PIECE) * PIECE * extent;
	rc = PMPI_Type_contiguous(PIECE, type, &piece);
	if (rc != MPI_SUCCESS)
		return rc;
	PMPI_Type_contiguous((int)(count / PIECE), piece, &parts[0]);
	PMPI_Type_contiguous((int)(count % PIECE), type, &parts[1]);
	rc = PMPI_Type_create_struct(2, (int[]){1, 1}, offsets, parts, made);
	PMPI_Type_free(&piece);
	PMPI_Type_free(&parts[0]);
	PMPI_Type_free(&parts[1]);
	return rc;
#endif
}

/* A datatype of `count` elements of `type`.  Those of predefined datatypes are kept for later calls. */
static uint32_t large_type(int64_t count, struct vtype *type)
{
	static struct kept {
		struct kept *next;
		uint32_t of, id;
		int64_t count;
	} * kept;
	struct kept *one = kept;
	MPI_Datatype made;

	while (one && (one->of != type->o.id || one->count != count))
		one = one->next;
	if (one)
		return one->id;
	if (contiguous(count, REAL(MPI_Datatype, type->o.real), &made) != MPI_SUCCESS ||
	    PMPI_Type_commit(&made) != MPI_SUCCESS)
		host->fatal("a datatype of %lld elements could not be made", (long long)count);
	one = needed(malloc(sizeof(*one)));
	/* others are not kept: a freed datatype's id may be used for another one */
	*one = (struct kept){.next = kept, .of = type->o.id, .id = type_new(made)->o.id, .count = count};
	if (type->o.id < RDB_FIRST_DYNAMIC)
		kept = one;
	uint32_t id = one->id;

	if (kept != one)
		free(one);
	return id;
}

static bool large_at(const uint8_t *places, unsigned i, const uint64_t *args)
{
	return (int64_t)args[places[i] - 1] > INT_MAX;
}

bool large_call(unsigned index, const uint64_t *args)
{
	const uint8_t *places = large_places[index];
	bool found = false;

	for (unsigned i = 0; i < LARGE_PLACES && places[i]; i += 2)
		found |= large_at(places, i, args);
	return found;
}

const uint64_t *large_arguments(unsigned index, uint32_t nargs, const uint64_t *args, uint64_t *copy)
{
	const uint8_t *places = large_places[index];

	memcpy(copy, args, nargs * sizeof(*copy));
	for (unsigned i = 0; i < LARGE_PLACES && places[i]; i += 2) {
		if (!large_at(places, i, args))
			continue;
		copy[places[i] - 1] = 1;
		copy[places[i + 1] - 1] = large_type((int64_t)args[places[i] - 1], type_of(args[places[i + 1] - 1]));
	}
	return copy;
}

int narrow_int(const struct narrow *narrow, int64_t value)
{
	if (value > INT_MAX || value < INT_MIN)
		large_missing(narrow->name);
	return (int)value;
}

static int *room(struct narrow *narrow, int64_t n)
{
	int *made = needed(malloc((n > 0 ? (size_t)n : 1) * sizeof(*made)));

	if (narrow->n == NARROW_ARRAYS)
		host->fatal("%s: too many arrays to convert", narrow->name);
	narrow->arrays[narrow->n++] = made;
	return made;
}

int *narrow_array_count(struct narrow *narrow, const MPI_Count *values, int64_t n)
{
	int *made = values ? room(narrow, n) : NULL;

	for (int64_t i = 0; made && i < n; i++)
		made[i] = narrow_int(narrow, values[i]);
	return made;
}

int *narrow_array_aint(struct narrow *narrow, const MPI_Aint *values, int64_t n)
{
	int *made = values ? room(narrow, n) : NULL;

	for (int64_t i = 0; made && i < n; i++)
		made[i] = narrow_int(narrow, values[i]);
	return made;
}

void narrow_end(struct narrow *narrow)
{
	for (unsigned i = 0; i < narrow->n; i++)
		free(narrow->arrays[i]);
	narrow->n = 0;
}
