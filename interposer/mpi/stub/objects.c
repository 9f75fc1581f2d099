/* Data that the stub keeps for objects: error handlers, attributes, windows. */
#include "fortran.h"

static struct rdb_lock lock;
static struct rdb_object *objects;

static struct rdb_object *find(unsigned class, uint32_t id)
{
	struct rdb_object *object = objects;

	while (object && (object->class != class || object->id != id))
		object = object->next;
	return object;
}

/* NULL: default error handler and no attributes. */
struct rdb_object *rdb_object_find(unsigned class, uint32_t id)
{
	struct rdb_object *object;

	rdb_lock(&lock);
	object = find(class, id);
	rdb_unlock(&lock);
	return object;
}

/* NULL: no memory. */
struct rdb_object *rdb_object_get(unsigned class, uint32_t id)
{
	struct rdb_object *object;

	rdb_lock(&lock);
	object = find(class, id);
	if (!object && (object = rdb_alloc(sizeof(*object)))) {
		object->class = class;
		object->id = id;
		object->next = objects;
		objects = object;
	}
	rdb_unlock(&lock);
	return object;
}

void rdb_object_forget(unsigned class, uint32_t id)
{
	struct rdb_object **link = &objects, *object;

#ifndef RDB_CORE
	rdb_body_forget(class, id);
#endif
	rdb_lock(&lock);
	while ((object = *link) && (object->class != class || object->id != id))
		link = &object->next;
	if (object) {
		*link = object->next;
		rdb_free(object, sizeof(*object));
	}
	rdb_unlock(&lock);
}

void *rdb_predefined_named(unsigned class, const char *name)
{
	for (uint32_t id = RDB_NULL_ID; id < rdb_predefined.count[class]; id++) {
		const struct rdb_predef *one = rdb_predefined.handles[class][id];
		const char *a = one ? one->name : "", *b = name;

		while (*a && *a == *b) {
			a++;
			b++;
		}
		if (!*a && !*b)
			return HANDLE(class, id);
	}
	return HANDLE(class, RDB_NULL_ID);
}

/* A new communicator inherits the error handler of the one it was made from. */
void rdb_comm_made(MPI_Comm parent, MPI_Comm comm)
{
	struct rdb_object *from = rdb_object_find(RDB_COMM, rdb_id(RDB_COMM, parent)), *to;
	uint32_t id = rdb_id(RDB_COMM, comm);

	if (id <= RDB_NULL_ID || !from || !from->errhandler)
		return;
	to = rdb_object_get(RDB_COMM, id);
	if (to)
		to->errhandler = from->errhandler;
}
