/* Keyvals and attributes.  All is done in the upper half, because the callbacks are upper code. */
#include "callbacks.h"
#include "stub.h"

#define PREDEFINED_KEYVALS RDB_KEYVALS_OWN /* MPI_TAG_UB ... IMPI_HOST_COLOR */
#define ASKED_KEYVALS 7                    /* keyvals below are those of communicators: up to MPI_UNIVERSE_SIZE */
#define RDB_WIN_SIZE_KEYVAL 8              /* after MPI_WIN_BASE */
#define LASTUSEDCODE 5                     /* the only predefined attribute that changes */

/* Where the standard leaves open in which order callbacks run and what follows an error, MPIs differ. */
#ifdef RDB_CORE
enum { AS_MPICH = 1 };
#else
enum { AS_MPICH = 0 };
#endif

struct keyval {
	struct keyval *next;
	int id;
	unsigned class;
	/* 1, and attributes that were set with it; each MPI_Comm_free_keyval takes one away, which counts in Open MPI */
	unsigned uses;
	enum rdb_language language;
	MPI_Comm_copy_attr_function *copy;
	MPI_Comm_delete_attr_function *delete;
	void *extra;
	void *proxy_copy, *proxy_delete; /* functions of a Fortran library that call `copy` and `delete` */
};

static struct rdb_lock lock;   /* protects the lists of keyvals and attributes */
static struct keyval *keyvals; /* entries are never removed */
static int next_keyval = PREDEFINED_KEYVALS;

static struct keyval *keyval_find(unsigned class, int id)
{
	struct keyval *keyval = keyvals;

	while (keyval && (keyval->id != id || keyval->class != class))
		keyval = keyval->next;
	/* MPICH knows a freed keyval for ever, and lets it be freed again. */
	return keyval && !keyval->uses && !AS_MPICH ? NULL : keyval;
}

/* The error that the program gets where we found ERR. */
static int refused(int err)
{
	return err && !AS_MPICH ? MPI_ERR_OTHER : err;
}

/* Open MPI can be asked for attributes of keyvals of another class, which are never there. */
static int can_get(unsigned class, int id)
{
	if (AS_MPICH)
		return keyval_find(class, id) != NULL;
	return (id >= 0 && id < PREDEFINED_KEYVALS) || keyval_find(RDB_COMM, id) || keyval_find(RDB_TYPE, id) ||
	       keyval_find(RDB_WIN, id);
}

int rdb_keyval_create(unsigned class, void *copy, void *delete, int *id, void *extra, enum rdb_language language)
{
	struct keyval *keyval = id ? rdb_alloc(sizeof(*keyval)) : NULL;

	if (!keyval)
		return MPI_ERR_ARG;
	rdb_lock(&lock);
	*keyval = (struct keyval){
		.next = keyvals,
		.id = next_keyval++,
		.class = class,
		.uses = 1,
		.language = language,
		.copy = copy,
		.delete = delete,
		.extra = extra,
	};
	keyvals = keyval;
	rdb_unlock(&lock);
	*id = keyval->id;
	return MPI_SUCCESS;
}

#ifdef RDB_CORE
void rdb_keyval_proxies(int id, void *copy, void *delete);
void rdb_keyval_proxies(int id, void *copy, void *delete)
{
	struct keyval *keyval = keyvals;

	while (keyval && keyval->id != id)
		keyval = keyval->next;
	if (!keyval)
		return;
	keyval->proxy_copy = copy;
	keyval->proxy_delete = delete;
	keyval->language = IN_FORTRAN_ADDRESS;
}
#endif

static int keyval_free(unsigned class, int *id)
{
	struct keyval *keyval = id ? keyval_find(class, *id) : NULL;

	if (!keyval)
		return refused(MPI_ERR_KEYVAL);
	keyval->uses--;
	*id = MPI_KEYVAL_INVALID;
	return MPI_SUCCESS;
}

static struct rdb_attr **attr_link(struct rdb_object *object, int keyval)
{
	struct rdb_attr **link = &object->attrs;

	while (*link && (*link)->keyval != keyval)
		link = &(*link)->next;
	return link;
}

static struct rdb_attr *attr_find(struct rdb_object *object, int keyval)
{
	struct rdb_attr *attr;

	if (!object)
		return NULL;
	rdb_lock(&lock);
	attr = *attr_link(object, keyval);
	rdb_unlock(&lock);
	return attr;
}

/* For C, the value of an attribute that Fortran has set is the address of the number. */
static void *c_value(struct rdb_attr *attr)
{
	return attr->language == IN_C ? attr->value : &attr->value;
}

/* An object of a Fortran program may have two handles; this is the one for C. */
static void *c_handle(unsigned class, void *handle)
{
	uint32_t id = rdb_id(class, handle);

	return id >= RDB_FIRST_DYNAMIC ? rdb_handle(class, id) : handle;
}

static int call_delete(const struct keyval *keyval, void *handle, struct rdb_attr *attr)
{
	if (!keyval->delete)
		return MPI_SUCCESS;
	if (keyval->proxy_delete)
		return rdb_proxy_delete(keyval->proxy_delete, keyval->delete, keyval->class, handle, keyval->id,
					attr->value, keyval->extra);
	if (keyval->language != IN_C)
		return rdb_fortran_delete(keyval->delete, keyval->class, handle, keyval->id, (int64_t)attr->value,
					  (int64_t)keyval->extra, keyval->language);
	return rdb_call_delete(keyval->delete, keyval->class, c_handle(keyval->class, handle), keyval->id,
			       c_value(attr), keyval->extra);
}

static int call_copy(const struct keyval *keyval, void *handle, const struct rdb_attr *attr, void **value, int *flag)
{
	struct rdb_attr in = *attr;

	if (keyval->proxy_copy)
		return rdb_proxy_copy(keyval->proxy_copy, keyval->copy, keyval->class, handle, keyval->id,
				      keyval->extra, attr->value, value, flag);
	if (keyval->language != IN_C)
		return rdb_fortran_copy(keyval->copy, keyval->class, handle, keyval->id, (int64_t)keyval->extra,
					(int64_t)attr->value, (int64_t *)value, flag, keyval->language);
	return rdb_call_copy(keyval->copy, keyval->class, c_handle(keyval->class, handle), keyval->id, keyval->extra,
			     c_value(&in), value, flag);
}

/* ANYWAY: also if its callback refuses. */
static int attr_remove(unsigned class, void *handle, int id, int anyway)
{
	struct rdb_object *object = rdb_object_find(class, rdb_id(class, handle));
	struct keyval *keyval = keyval_find(class, id);
	struct rdb_attr **link, *attr;
	int err;

	if (!keyval)
		return AS_MPICH ? MPI_ERR_KEYVAL : MPI_ERR_ARG;
	attr = attr_find(object, id);
	if (!attr)
		return AS_MPICH ? MPI_SUCCESS : MPI_ERR_OTHER;
	err = call_delete(keyval, handle, attr);
	if (err && !anyway)
		return err;
	rdb_lock(&lock);
	link = attr_link(object, id); /* the callback may have changed the list */
	if (*link == attr) {
		*link = attr->next;
		keyval->uses--;
		rdb_free(attr, sizeof(*attr));
	}
	rdb_unlock(&lock);
	return err;
}

/* LAST: after all others, if it is a new one. */
static int attr_set(unsigned class, void *handle, int id, void *value, enum rdb_language language, int last)
{
	struct keyval *keyval = keyval_find(class, id);
	struct rdb_attr **link, *attr;
	struct rdb_object *object;
	int err;

	if (!keyval)
		return MPI_ERR_KEYVAL;
	object = rdb_object_get(class, rdb_id(class, handle));
	attr = attr_find(object, id);
	if (attr) {
		err = call_delete(keyval, handle, attr);
		if (err)
			return err;
		attr->value = value;
		attr->language = language;
		rdb_lock(&lock);
		link = attr_link(object, id);
		if (*link == attr && !AS_MPICH) { /* it counts as the newest */
			*link = attr->next;
			attr->next = object->attrs;
			object->attrs = attr;
		}
		rdb_unlock(&lock);
		return MPI_SUCCESS;
	}
	attr = object ? rdb_alloc(sizeof(*attr)) : NULL;
	if (!attr)
		return MPI_ERR_NO_MEM;
	rdb_lock(&lock);
	link = last ? attr_link(object, id) : &object->attrs;
	*attr = (struct rdb_attr){.next = *link, .keyval = id, .language = language, .value = value};
	*link = attr;
	keyval->uses++;
	rdb_unlock(&lock);
	return MPI_SUCCESS;
}

static int attr_get(unsigned class, void *handle, int id, void **value, int *flag)
{
	struct rdb_object *object = rdb_object_find(class, rdb_id(class, handle));
	struct rdb_attr *attr = attr_find(object, id);

	if (!can_get(class, id))
		return id == MPI_KEYVAL_INVALID ? MPI_ERR_KEYVAL : refused(MPI_ERR_KEYVAL);
	*flag = attr != NULL;
	if (attr)
		*value = c_value(attr);
	return MPI_SUCCESS;
}

/* The program gets a pointer to an int, as in Open MPI.  Which communicators beside MPI_COMM_WORLD have the attribute,
 * the MPI below decides. */
static int predefined_get(MPI_Comm comm, int id, void **value, int *flag)
{
	static struct {
		int known, there, value;
	} cache[ASKED_KEYVALS];
	int there = 0, number = 0, world = comm == MPI_COMM_WORLD, err;

	if (id >= ASKED_KEYVALS) {
		*flag = 0;
		return MPI_SUCCESS;
	}
	if (!world || !cache[id].known || id == LASTUSEDCODE) {
		err = (int)rdb_call(
			RDB_Comm_get_attr, 4,
			(uint64_t[]){rdb_id(RDB_COMM, comm), (uint64_t)id, (uint64_t)&number, (uint64_t)&there});
		if (err)
			return err;
		if (world) {
			cache[id].known = 1;
			cache[id].there = there;
		}
		if (there)
			cache[id].value = number;
	}
	*flag = world ? cache[id].there : there;
	if (*flag)
		*value = &cache[id].value;
	return MPI_SUCCESS;
}

/* Newest first.  MPICH goes on after an error, and returns what the last callback did. */
static int delete_all(unsigned class, void *handle)
{
	struct rdb_object *object;
	int err = MPI_SUCCESS;

	while ((object = rdb_object_find(class, rdb_id(class, handle))) && object->attrs) {
		err = attr_remove(class, handle, object->attrs->keyval, AS_MPICH);
		if (err && !AS_MPICH)
			return err;
	}
	return err;
}

int rdb_attrs_end(void)
{
	const uint64_t world = rdb_id(RDB_COMM, MPI_COMM_WORLD);
	const struct rdb_object *object = rdb_object_find(RDB_COMM, world);
	int err = delete_all(RDB_COMM, MPI_COMM_SELF), number = 0, deleted = 0;

	if (err || !object || !object->attrs)
		return err;
	err = (int)rdb_call(RDB_Comm_get_attr, 4,
			    (uint64_t[]){world, RDB_KEYVAL_DELETED, (uint64_t)&number, (uint64_t)&deleted});
	return err || !deleted ? err : delete_all(RDB_COMM, MPI_COMM_WORLD);
}

/* The attribute to be copied after that of keyval LAST: the next older one in MPICH, else that of the next keyval. */
static const struct rdb_attr *to_copy(const struct rdb_attr *attrs, const struct rdb_attr *last)
{
	const struct rdb_attr *next = NULL;

	if (AS_MPICH)
		return last ? last->next : attrs;
	for (; attrs; attrs = attrs->next)
		if ((!last || attrs->keyval > last->keyval) && (!next || attrs->keyval < next->keyval))
			next = attrs;
	return next;
}

static int attrs_copy(unsigned class, const struct rdb_attr *attrs, void *from, void *to)
{
	for (const struct rdb_attr *attr = to_copy(attrs, NULL); attr; attr = to_copy(attrs, attr)) {
		struct keyval *keyval = keyval_find(class, attr->keyval);
		void *value = NULL;
		int flag = 0, err = MPI_SUCCESS;

		if (keyval && keyval->copy)
			err = call_copy(keyval, from, attr, &value, &flag);
		if (!err && flag)
			err = attr_set(class, to, attr->keyval, value, keyval->language, AS_MPICH);
		if (err) {
			if (!AS_MPICH)
				delete_all(class, to);
			return err;
		}
	}
	return MPI_SUCCESS;
}

int rdb_comm_copied(MPI_Comm from, MPI_Comm *to)
{
	struct rdb_object *object = rdb_object_find(RDB_COMM, rdb_id(RDB_COMM, from));
	int err;

	rdb_comm_made(from, *to);
	err = object ? attrs_copy(RDB_COMM, object->attrs, from, *to) : MPI_SUCCESS;
	if (err) {
		rdb_object_forget(RDB_COMM, rdb_id(RDB_COMM, *to));
		rdb_call(RDB_Comm_free, 1, (uint64_t[]){(uint64_t)to});
	}
	return err;
}

int rdb_type_copied(MPI_Datatype from, MPI_Datatype *to)
{
	struct rdb_object *object = rdb_object_find(RDB_TYPE, rdb_id(RDB_TYPE, from));
	int err = object ? attrs_copy(RDB_TYPE, object->attrs, from, *to) : MPI_SUCCESS;

	if (err) {
		rdb_object_forget(RDB_TYPE, rdb_id(RDB_TYPE, *to));
		rdb_call(RDB_Type_free, 1, (uint64_t[]){(uint64_t)to});
	}
	return err;
}

static int freed(unsigned class, void **handle)
{
	int err = MPI_SUCCESS;

	if (handle && rdb_id(class, *handle) >= RDB_FIRST_DYNAMIC) {
		err = delete_all(class, *handle);
		if (class == RDB_TYPE)
			err = MPI_SUCCESS; /* MPIs free a datatype whatever its callbacks return */
		if (!err)
			rdb_object_forget(class, rdb_id(class, *handle));
	}
	return err;
}

int rdb_comm_freed(MPI_Comm *comm)
{
	return freed(RDB_COMM, (void **)comm);
}
int rdb_type_freed(MPI_Datatype *type)
{
	return freed(RDB_TYPE, (void **)type);
}
int rdb_win_freed(MPI_Win *win)
{
	return win && rdb_id(RDB_WIN, *win) >= RDB_FIRST_DYNAMIC ? delete_all(RDB_WIN, *win) : MPI_SUCCESS;
}

static int tell(void *handle, unsigned class, int err, const char *name)
{
	if (!err)
		return MPI_SUCCESS;
	if (class == RDB_WIN && handle)
		return rdb_error_on(class, handle, err, name);
	return rdb_error(class == RDB_COMM && handle ? handle : MPI_COMM_WORLD, err, name);
}

static int no_handle(unsigned class)
{
	return class == RDB_COMM ? MPI_ERR_COMM : class == RDB_WIN ? MPI_ERR_WIN : MPI_ERR_TYPE;
}

static int get(unsigned class, void *handle, int id, void *value, int *flag, const char *name)
{
	int err;

	if (!value || !flag)
		return tell(handle, class, MPI_ERR_ARG, name);
	if (rdb_id(class, handle) <= RDB_NULL_ID)
		err = no_handle(class);
	else if (class == RDB_COMM && id >= 0 && id < PREDEFINED_KEYVALS)
		err = predefined_get(handle, id, value, flag);
	else if (class == RDB_WIN && id >= 0 && id < PREDEFINED_KEYVALS)
		err = rdb_window_attribute(handle, id, value, flag);
	else
		err = attr_get(class, handle, id, value, flag);
	return tell(handle, class, err, name);
}

int rdb_attr_set(unsigned class, void *handle, int id, void *value, enum rdb_language language, const char *name)
{
	int err = rdb_id(class, handle) <= RDB_NULL_ID ? no_handle(class)
						       : refused(attr_set(class, handle, id, value, language, 0));

	return tell(handle, class, err, name);
}

/* An attribute's value for Fortran.  For predefined attributes it is the number of which C gets the address. */
int rdb_attr_number(unsigned class, void *handle, int id, int64_t *number, int *flag, const char *name)
{
	struct rdb_object *object = rdb_object_find(class, rdb_id(class, handle));
	const struct rdb_attr *attr;
	void *value = NULL;
	int err = get(class, handle, id, &value, flag, name);

	if (err || !*flag)
		return err;
	attr = attr_find(object, id);
	if (attr)
		*number = (int64_t)attr->value;
	else if (class == RDB_WIN && id <= RDB_WIN_SIZE_KEYVAL)
		*number = id < RDB_WIN_SIZE_KEYVAL ? (int64_t)value : *(MPI_Aint *)value;
	else
		*number = *(int *)value;
	return MPI_SUCCESS;
}

/* The functions exist for three classes, and under names of MPI-1. */
#define CREATE_KEYVAL(name, class, copy_type, delete_type) \
	RDB_MPI(int, name, copy_type *copy, delete_type *delete, int *keyval, void *extra) \
	{ \
		return tell(NULL, RDB_TYPE, rdb_keyval_create(class, copy, delete, keyval, extra, IN_C), \
			    "MPI_" #name); \
	}
#define FREE_KEYVAL(name, class) \
	RDB_MPI(int, name, int *keyval) \
	{ \
		return tell(NULL, RDB_TYPE, keyval_free(class, keyval), "MPI_" #name); \
	}
#define SET_ATTR(name, class, handle_type) \
	RDB_MPI(int, name, handle_type handle, int keyval, void *value) \
	{ \
		return rdb_attr_set(class, handle, keyval, value, IN_C, "MPI_" #name); \
	}
#define GET_ATTR(name, class, handle_type) \
	RDB_MPI(int, name, handle_type handle, int keyval, void *value, int *flag) \
	{ \
		return get(class, handle, keyval, value, flag, "MPI_" #name); \
	}
#define DELETE_ATTR(name, class, handle_type) \
	RDB_MPI(int, name, handle_type handle, int keyval) \
	{ \
		return tell(handle, class, refused(attr_remove(class, handle, keyval, 0)), "MPI_" #name); \
	}

CREATE_KEYVAL(Comm_create_keyval, RDB_COMM, MPI_Comm_copy_attr_function, MPI_Comm_delete_attr_function)
CREATE_KEYVAL(Keyval_create, RDB_COMM, MPI_Copy_function, MPI_Delete_function)
CREATE_KEYVAL(Type_create_keyval, RDB_TYPE, MPI_Type_copy_attr_function, MPI_Type_delete_attr_function)
CREATE_KEYVAL(Win_create_keyval, RDB_WIN, MPI_Win_copy_attr_function, MPI_Win_delete_attr_function)
FREE_KEYVAL(Comm_free_keyval, RDB_COMM)
FREE_KEYVAL(Keyval_free, RDB_COMM)
FREE_KEYVAL(Type_free_keyval, RDB_TYPE)
FREE_KEYVAL(Win_free_keyval, RDB_WIN)
SET_ATTR(Comm_set_attr, RDB_COMM, MPI_Comm)
SET_ATTR(Attr_put, RDB_COMM, MPI_Comm)
SET_ATTR(Type_set_attr, RDB_TYPE, MPI_Datatype)
SET_ATTR(Win_set_attr, RDB_WIN, MPI_Win)
GET_ATTR(Comm_get_attr, RDB_COMM, MPI_Comm)
GET_ATTR(Attr_get, RDB_COMM, MPI_Comm)
GET_ATTR(Type_get_attr, RDB_TYPE, MPI_Datatype)
GET_ATTR(Win_get_attr, RDB_WIN, MPI_Win)
DELETE_ATTR(Comm_delete_attr, RDB_COMM, MPI_Comm)
DELETE_ATTR(Attr_delete, RDB_COMM, MPI_Comm)
DELETE_ATTR(Type_delete_attr, RDB_TYPE, MPI_Datatype)
DELETE_ATTR(Win_delete_attr, RDB_WIN, MPI_Win)

/* MPI_COMM_DUP_FN and the other predefined callbacks; these are their names in Open MPI's mpi.h. */
#define CALLBACKS(kind, handle_type) \
	EXPORT int OMPI_C_MPI_##kind##DUP_FN(handle_type, int, void *, void *, void *, int *); \
	EXPORT int OMPI_C_MPI_##kind##DUP_FN(handle_type h __attribute__((unused)), int k __attribute__((unused)), \
					     void *e __attribute__((unused)), void *in, void *out, int *flag) \
	{ \
		*(void **)out = in; \
		*flag = 1; \
		return MPI_SUCCESS; \
	} \
	EXPORT int OMPI_C_MPI_##kind##NULL_COPY_FN(handle_type, int, void *, void *, void *, int *); \
	EXPORT int OMPI_C_MPI_##kind##NULL_COPY_FN( \
		handle_type h __attribute__((unused)), int k __attribute__((unused)), void *e __attribute__((unused)), \
		void *in __attribute__((unused)), void *out __attribute__((unused)), int *flag) \
	{ \
		*flag = 0; \
		return MPI_SUCCESS; \
	} \
	EXPORT int OMPI_C_MPI_##kind##NULL_DELETE_FN(handle_type, int, void *, void *); \
	EXPORT int OMPI_C_MPI_##kind##NULL_DELETE_FN(handle_type h __attribute__((unused)), \
						     int k __attribute__((unused)), void *v __attribute__((unused)), \
						     void *e __attribute__((unused))) \
	{ \
		return MPI_SUCCESS; \
	}

CALLBACKS(COMM_, MPI_Comm)
CALLBACKS(TYPE_, MPI_Datatype)
CALLBACKS(WIN_, MPI_Win)
CALLBACKS(, MPI_Comm)
