/* Freeing objects, and calls that the generator cannot make from their parameter lists. */
#include "lower/core/error_codes.h"
#include "lower/objects/observer.h"
#include "lower/objects/worlds.h"

typedef int (*free_call)(void *real);

/* Whether it has processes of other jobs, which have no board and do not take part in our barriers. */
static bool strangers(const struct vcomm *comm)
{
	for (int i = 0; i < comm_peers(comm); i++)
		if (comm->world[i] < 0)
			return true;
	return false;
}

static int64_t free_handle(void **upper, unsigned class, free_call call)
{
	struct vobject *object = object_of(class, upper ? rdb_id(class, *upper) : 0);
	const struct vcomm *comm = class == RDB_COMM ? (struct vcomm *)object : NULL;
	const uint64_t counted = comm && observer && object->id >= RDB_FIRST_DYNAMIC ? comm->page_name : 0;
	void *real = object->real;
	int rc = MPI_SUCCESS;

	const bool shared = counted && (comm->size > 1 || comm->inter) && !strangers(comm);

	if (shared && call == (free_call)PMPI_Comm_free)
		rc = observer->comm_free(counted, REAL(MPI_Comm, real));
	else {
		if (shared) /* after the barrier no rank has a collective on it to begin */
			rc = BLOCKING(PMPI_Barrier(REAL(MPI_Comm, real)));
		if (rc == MPI_SUCCESS)
			rc = comm ? BLOCKING(call(&real)) : call(&real);
		if (rc == MPI_SUCCESS && counted)
			observer->comm_freed(counted);
	}
	if (rc != MPI_SUCCESS)
		return rc;
	if (comm)
		host->note(RDB_NOTE_FREED, &object->id, sizeof(object->id));
	object_drop(object);
	put_handle(upper, class, RDB_NULL_ID);
	return rc;
}

/* The real functions take a pointer to their own handle type, hence the casts. */
int64_t real_Comm_free(const uint64_t *a)
{
	return free_handle((void **)a[0], RDB_COMM, (free_call)PMPI_Comm_free);
}

int64_t real_Comm_disconnect(const uint64_t *a)
{
	bool alone = host->branch && worlds_within(comm_of(rdb_id(RDB_COMM, *(void **)a[0])));

	/* ranks whose cut is behind their MPI_Comm_disconnect do not take part */
	return free_handle((void **)a[0], RDB_COMM, (free_call)(alone ? PMPI_Comm_free : PMPI_Comm_disconnect));
}

int64_t real_Group_free(const uint64_t *a)
{
	return free_handle((void **)a[0], RDB_GROUP, (free_call)PMPI_Group_free);
}

int64_t real_Info_free(const uint64_t *a)
{
	return free_handle((void **)a[0], RDB_INFO, (free_call)PMPI_Info_free);
}

/* datatype: the real one is freed when no pending operation needs it any more. */
int64_t real_Type_free(const uint64_t *a)
{
	void **upper = (void **)a[0];
	struct vtype *type = type_of(upper ? rdb_id(RDB_TYPE, *upper) : 0);

	if (type->o.id < RDB_FIRST_DYNAMIC)
		return MPI_ERR_TYPE;
	type->freed = true;
	if (!type->operations)
		object_drop(&type->o);
	put_handle(upper, RDB_TYPE, RDB_NULL_ID);
	return MPI_SUCCESS;
}

/* datatype */
int64_t real_Type_commit(const uint64_t *a)
{
	void **upper = (void **)a[0];
	struct vtype *type = type_of(upper ? rdb_id(RDB_TYPE, *upper) : 0);

	return PMPI_Type_commit((MPI_Datatype *)&type->o.real);
}

/* datatype, max_integers, max_addresses, max_datatypes, integers, addresses, datatypes */
int64_t real_Type_get_contents(const uint64_t *a)
{
	void **upper = (void **)a[6];
	int integers, addresses, datatypes, combiner, rc;
	MPI_Datatype real = type_of(a[0])->o.real;
	MPI_Datatype *types;

	rc = PMPI_Type_get_envelope(real, &integers, &addresses, &datatypes, &combiner);
	if (rc != MPI_SUCCESS)
		return rc;
	types = needed(calloc((int)a[3] > 0 ? (int)a[3] : 1, sizeof(*types)));
	rc = PMPI_Type_get_contents(real, (int)a[1], (int)a[2], (int)a[3], (int *)a[4], (MPI_Aint *)a[5], types);
	if (rc == MPI_SUCCESS) {
		contents_out(combiner, (int *)a[4], integers);
		if (integers)
			host->out((void *)a[4], integers * sizeof(int));
		if (addresses)
			host->out((void *)a[5], addresses * sizeof(MPI_Aint));
		for (int i = 0; i < datatypes; i++)
			put_handle(upper + i, RDB_TYPE, type_new(types[i])->o.id);
	}
	free(types);
	return rc;
}

/* comm, comm_keyval, attribute_val, flag: predefined attributes only, whose values the real MPI
 * keeps as an int behind a pointer.  The stub asks for each of MPI_COMM_WORLD once. */
int64_t real_Comm_get_attr(const uint64_t *a)
{
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
	static const int deleted = false;
#else
	static const int deleted = true;
#endif
	if (a[1] == RDB_KEYVAL_DELETED) {
		put((void *)a[3], &deleted, sizeof(deleted));
		return MPI_SUCCESS;
	}
	int *value = NULL, flag = 0, appnum = host->appnum, last = error_codes_last(), rank;
	int rc = PMPI_Comm_get_attr(REAL(MPI_Comm, comm_of(a[0])->o.real), (int)a[1], &value, &flag);

	if (rc != MPI_SUCCESS)
		return rc;
	if (host->worlds && (int)a[1] == MPI_APPNUM) {
		value = &appnum; /* the recorded one; the real MPI has that of the restart's launcher */
		flag = true;
	}
	if (flag && value && ((int)a[1] == MPI_HOST || (int)a[1] == MPI_IO)) {
		rank = rank_out(*value);
		value = &rank;
	}
	if ((int)a[1] == MPI_LASTUSEDCODE && error_codes_last())
		value = &last;
	put((void *)a[3], &flag, sizeof(flag));
	if (flag && value)
		put((void *)a[2], value, sizeof(*value));
	return rc;
}

/* info, key, valuelen, value, flag */
int64_t real_Info_get(const uint64_t *a)
{
	char value[MPI_MAX_INFO_VAL + 1];
	int len = (int)a[2], flag = 0, rc;

	if (len > MPI_MAX_INFO_VAL)
		len = MPI_MAX_INFO_VAL;
	rc = PMPI_Info_get(info_of(a[0])->real, (char *)a[1], len, a[3] ? value : NULL, a[4] ? &flag : NULL);
	if (rc != MPI_SUCCESS)
		return rc;
	put((void *)a[4], &flag, sizeof(flag));
	if (flag)
		put((void *)a[3], value, strlen(value) + 1);
	return rc;
}

/* info, n, key */
int64_t real_Info_get_nthkey(const uint64_t *a)
{
	char key[MPI_MAX_INFO_KEY + 1];
	int rc = PMPI_Info_get_nthkey(info_of(a[0])->real, (int)a[1], a[2] ? key : NULL);

	if (rc == MPI_SUCCESS)
		put((void *)a[2], key, strlen(key) + 1);
	return rc;
}
