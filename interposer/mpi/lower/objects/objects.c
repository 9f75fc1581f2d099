#include <stdio.h>
#include "lower/objects/observer.h"
#include "lower/objects/real.h"
#include "lower/objects/worlds.h"

#define TABLE_FIRST 1024

struct table tables[RDB_CLASSES];
static struct rdb_predef_table upper_predefined;

void type_release(struct vobject *object)
{
	MPI_Datatype real = object->real;

	free(((struct vtype *)object)->blocks);
	free(((struct vtype *)object)->parts);
	PMPI_Type_free(&real);
}

void comm_release(struct vobject *object)
{
	free(((struct vcomm *)object)->world);
}

static void table_grow(struct table *table, uint32_t size)
{
	table->slot = needed(realloc(table->slot, size * sizeof(*table->slot)));
	table->free_ids = needed(realloc(table->free_ids, size * sizeof(*table->free_ids)));
	for (uint32_t i = table->size; i < size; i++)
		table->slot[i] = table->invalid;
	table->size = size;
}

void tables_init(const struct object_class classes[RDB_CLASSES])
{
	for (unsigned class = 1; class < RDB_CLASSES; class ++) {
		struct table *table = &tables[class];

		table->object_size = classes[class].size ? classes[class].size : sizeof(struct vobject);
		table->release = classes[class].release;
		table->next = RDB_FIRST_DYNAMIC;
		table->invalid = needed(calloc(1, table->object_size));
		table->invalid->class = class;
		table->invalid->refs = 1;
		table_grow(table, TABLE_FIRST);
	}
}

static struct vobject *object_place(unsigned class, uint32_t id, void *real)
{
	struct table *table = &tables[class];
	struct vobject *object = table->unused;

	if (object)
		table->unused = object->real;
	else
		object = needed(malloc(table->object_size));
	memset(object, 0, table->object_size);
	*object = (struct vobject){.real = real, .id = id, .class = class, .refs = 1};
	table->slot[id] = object;
	return object;
}

void tables_show(const struct rdb_predef_table *upper)
{
	upper_predefined = *upper;
}

const struct rdb_predef_table *tables_shown(void)
{
	return &upper_predefined;
}

void tables_predefine(const struct rdb_predef_table *upper)
{
	upper_predefined = *upper;
	for (unsigned i = 0; i < predefined_handle_count; i++) {
		const struct predefined_handle *row = &predefined_handles[i];
		bool world = row->class == RDB_COMM && row->real == BITS(MPI_COMM_WORLD);
		struct vobject *object = object_place(row->class, row->id, world ? BITS(own_world) : row->real);

		if (row->id == RDB_NULL_ID)
			continue;
		if (row->class == RDB_TYPE)
			type_describe((struct vtype *)object);
		if (row->class == RDB_COMM)
			comm_describe((struct vcomm *)object);
	}
}

void *upper_handle(unsigned class, uint32_t id)
{
	if (id >= RDB_FIRST_DYNAMIC)
		return rdb_handle(class, id);
	return id < upper_predefined.count[class] ? (void *)upper_predefined.handles[class][id] : NULL;
}

uint32_t *handles_in(unsigned class, void *const *upper, int count, void ***real)
{
	size_t n = count > 0 && upper ? count : 0;
	/* ids first, then, aligned, the real handles */
	size_t ids_bytes = (n * sizeof(uint32_t) + 15) & ~15ul;
	uint32_t *ids = needed(calloc(1, ids_bytes + n * sizeof(void *) + 16));

	*real = (void **)((char *)ids + ids_bytes);
	for (size_t i = 0; i < n; i++) {
		ids[i] = rdb_id(class, upper[i]);
		memcpy((char *)*real + i * REAL_BYTES, &object_of(class, ids[i])->real, REAL_BYTES);
	}
	return ids;
}

struct vobject *object_new(unsigned class, void *real)
{
	struct table *table = &tables[class];
	uint32_t id;

	for (id = RDB_NULL_ID; id < upper_predefined.count[class]; id++) {
		if (table->slot[id]->real == real && real && class != RDB_REQUEST)
			return table->slot[id];
	}
	if (table->free_count) {
		id = table->free_ids[--table->free_count];
	} else {
		id = table->next++;
		if (id >= table->size)
			table_grow(table, table->size * 2);
	}
	return object_place(class, id, real);
}

/* Makes sure that this id is not given to a new object. */
static void id_take(struct table *table, uint32_t id)
{
	while (id >= table->size)
		table_grow(table, table->size * 2);
	while (table->next <= id)
		table->free_ids[table->free_count++] = table->next++;
	for (uint32_t i = 0; i < table->free_count; i++) {
		if (table->free_ids[i] == id) {
			table->free_ids[i] = table->free_ids[--table->free_count];
			return;
		}
	}
}

struct vobject *object_at(unsigned class, uint32_t id, void *real)
{
	id_take(&tables[class], id);
	return object_place(class, id, real);
}

void object_move(struct vobject *object, uint32_t id)
{
	struct table *table = &tables[object->class];
	struct vobject *other;

	if (object->id == id)
		return;
	id_take(table, id);
	other = table->slot[id];
	table->slot[object->id] = other;
	if (other == table->invalid)
		table->free_ids[table->free_count++] = object->id;
	else
		other->id = object->id;
	object->id = id;
	table->slot[id] = object;
}

void object_drop(struct vobject *object)
{
	struct table *table = &tables[object->class];

	if (object->id < RDB_FIRST_DYNAMIC)
		return;
	table->slot[object->id] = table->invalid;
	table->free_ids[table->free_count++] = object->id;
	object_release(object);
}

void object_release(struct vobject *object)
{
	struct table *table = &tables[object->class];

	if (--object->refs || object->id < RDB_FIRST_DYNAMIC)
		return;
	if (table->release)
		table->release(object);
	object->real = table->unused;
	table->unused = object;
}

/* The MPI hands out a type of MPI_Type_create_f90_real and its kin each time that it is asked for: one handle for it. */
static struct vobject *f90_type(MPI_Datatype real)
{
	int integers, addresses, types, combiner = MPI_COMBINER_NAMED;
	struct vobject *object;

	PMPI_Type_get_envelope(real, &integers, &addresses, &types, &combiner);
	if (combiner != MPI_COMBINER_F90_REAL && combiner != MPI_COMBINER_F90_COMPLEX &&
	    combiner != MPI_COMBINER_F90_INTEGER)
		return NULL;
	EACH_PLAIN(RDB_TYPE, object)
	if (object->real == BITS(real))
		return object;
	return NULL;
}

struct vtype *type_new(MPI_Datatype real)
{
	struct vobject *known = f90_type(real);
	struct vtype *type = (struct vtype *)(known ? known : object_new(RDB_TYPE, real));

	if (known)
		return type;

	if (type->o.id >= RDB_FIRST_DYNAMIC)
		type_describe(type);
	return type;
}

void comm_describe(struct vcomm *comm)
{
	MPI_Comm real = comm->o.real;
	MPI_Group group;
	int inter = 0, n;

	PMPI_Comm_set_errhandler(real, MPI_ERRORS_RETURN); /* not inherited by communicators with joined processes */
	PMPI_Comm_rank(real, &comm->rank);
	PMPI_Comm_size(real, &comm->size);
	PMPI_Comm_test_inter(real, &inter);
	comm->inter = inter;
	if (inter)
		PMPI_Comm_remote_size(real, &comm->remote);
	n = comm_peers(comm);
	comm->world = needed(calloc(n, sizeof(int)));
	if (inter)
		PMPI_Comm_remote_group(real, &group);
	else
		PMPI_Comm_group(real, &group);
	worlds_ranks(group, n, comm->world);
	PMPI_Group_free(&group);
}

/* The largest of all ranks' numbers.  On an inter-communicator MPI_Allreduce gives the other group's, so two steps. */
static uint64_t largest(const struct vcomm *comm, uint64_t mine)
{
	MPI_Comm real = REAL(MPI_Comm, comm->o.real);
	uint64_t first = 0, second = 0;

	BLOCKING(PMPI_Allreduce(&mine, &first, 1, MPI_UINT64_T, MPI_MAX, real));
	if (!comm->inter)
		return first;
	BLOCKING(PMPI_Allreduce(&first, &second, 1, MPI_UINT64_T, MPI_MAX, real));
	return first > second ? first : second;
}

/* A number that all ranks of the communicator agree on; all of them are in the call that made it.  Each rank proposes
 * a number that it uses only once, and the largest one wins.  With processes of other jobs, which may not take part,
 * nothing is agreed. */
static uint64_t context_of(const struct vcomm *comm)
{
	static uint64_t made;

	for (int i = 0; i < comm_peers(comm); i++) {
		if (comm->world[i] == -1)
			return (uint64_t)PMPI_Comm_c2f(REAL(MPI_Comm, comm->o.real));
	}
	if (comm->inter && !worlds_known(REAL(MPI_Comm, comm->o.real)))
		return (uint64_t)PMPI_Comm_c2f(REAL(MPI_Comm, comm->o.real));
	return largest(comm, ++made << 24 | (uint64_t)host->rank);
}

uint64_t comm_copy_context(struct vcomm *comm)
{
	uint64_t hash = comm->context ^ ++comm->copies << 40;

	for (int i = 0; i < 2; i++) { /* the finaliser of MurmurHash3 */
		hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdull;
		hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53ull;
	}
	return hash >> 2 | 1ull << 62;
}

void comm_text(const struct vcomm *comm, char *text, size_t size)
{
	int room = (int)size;
	int len = snprintf(text, size, "comm=%u context=%lu by=%s rank=%d ranks=", comm->o.id, comm->context, comm->by,
			   comm->rank);

	for (int i = 0; i < comm_peers(comm) && len < room - 16; i++)
		len += snprintf(text + len, size - len, "%s%d", i ? "," : "", comm->world[i]);
	if (len >= room - 16)
		snprintf(text + len, size - len, "...");
}

static void comm_note(struct vcomm *comm, const char *by)
{
	char text[512];

	if (!comm->context)
		comm->context = context_of(comm);
	if (observer)
		observer->comm_made(comm);
	comm->by = by;
	comm_text(comm, text, sizeof(text));
	host->note(RDB_NOTE_TEXT, text, strlen(text));
	if (topology_text(comm, text, sizeof(text)))
		host->note(RDB_NOTE_TEXT, text, strlen(text));
}

void comm_become(struct vcomm *comm, MPI_Comm real, const char *by)
{
	comm->o.real = real;
	comm_describe(comm);
	comm_note(comm, by);
}

struct vcomm *comm_new(MPI_Comm real, const char *by)
{
	struct vcomm *comm = (struct vcomm *)object_new(RDB_COMM, real);

	if (comm->o.id >= RDB_FIRST_DYNAMIC) {
		comm_describe(comm);
		comm_note(comm, by);
	}
	return comm;
}
