/* Attributes and error handlers of Fortran programs, through Open MPI's Fortran library. */
#include "callbacks.h"
#include "fortran.h"

/* Copy and delete functions get references to numbers: default integers for MPI-1's functions, else address-sized. */
typedef void copy_integers(MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);
typedef void copy_addresses(MPI_Fint *, MPI_Fint *, MPI_Aint *, MPI_Aint *, MPI_Aint *, MPI_Fint *, MPI_Fint *);
typedef void delete_integers(MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);
typedef void delete_addresses(MPI_Fint *, MPI_Fint *, MPI_Aint *, MPI_Aint *, MPI_Fint *);

int rdb_fortran_copy(void *fn, unsigned class, void *handle, int keyval, int64_t extra, int64_t in, int64_t *out,
		     int *flag, enum rdb_language language)
{
	MPI_Fint number = rdb_fortran_number(class, handle), small_extra = (MPI_Fint)extra, small_in = (MPI_Fint)in;
	MPI_Fint small_out = 0, copied = 0, err = MPI_SUCCESS;
	MPI_Aint large_out = 0;

	if (language == IN_FORTRAN_INTEGER) {
		((copy_integers *)fn)(&number, &keyval, &small_extra, &small_in, &small_out, &copied, &err);
		*out = small_out;
	} else {
		((copy_addresses *)fn)(&number, &keyval, &extra, &in, &large_out, &copied, &err);
		*out = large_out;
	}
	*flag = copied != 0;
	return err;
}

int rdb_fortran_delete(void *fn, unsigned class, void *handle, int keyval, int64_t value, int64_t extra,
		       enum rdb_language language)
{
	MPI_Fint number = rdb_fortran_number(class, handle), small_value = (MPI_Fint)value;
	MPI_Fint small_extra = (MPI_Fint)extra, err = MPI_SUCCESS;

	if (language == IN_FORTRAN_INTEGER)
		((delete_integers *)fn)(&number, &keyval, &small_value, &small_extra, &err);
	else
		((delete_addresses *)fn)(&number, &keyval, &value, &extra, &err);
	return err;
}

void rdb_fortran_errhandler(void *fn, unsigned class, void *handle, int *code)
{
	MPI_Fint number = rdb_fortran_number(class, handle);

	((void (*)(MPI_Fint *, MPI_Fint *))fn)(&number, code);
}

/* Class of the library's number for an object with attributes. */
static unsigned class_of(int kind)
{
	static const unsigned classes[] = {0, RDB_COMM, RDB_TYPE, RDB_WIN};

	return kind > 0 && kind < (int)COUNT(classes) ? classes[kind] : 0;
}

static unsigned class_at(const struct rdb_predef *object)
{
	return object && object->magic == RDB_PREDEF_MAGIC ? object->class : 0;
}

#define KEYVALS(suffix, type, language) \
	EXPORT int ompi_attr_create_keyval_##suffix(int kind, void *copy, void *delete, int *keyval, type extra, \
						    int flags, void *own); \
	EXPORT int ompi_attr_create_keyval_##suffix(int kind, void *copy, void *delete, int *keyval, type extra, \
						    int flags __attribute__((unused)), \
						    void *own __attribute__((unused))) \
	{ \
		return rdb_keyval_create(class_of(kind), copy, delete, keyval, (void *)(int64_t)extra, language); \
	} \
	EXPORT int ompi_attr_set_##suffix(int kind, void *object, void **table, int keyval, type value, \
					  _Bool predefined); \
	EXPORT int ompi_attr_set_##suffix(int kind, void *object, void **table __attribute__((unused)), int keyval, \
					  type value, _Bool predefined __attribute__((unused))) \
	{ \
		return rdb_attr_set(class_of(kind), object, keyval, (void *)(int64_t)value, language, \
				    "MPI_Comm_set_attr"); \
	} \
	EXPORT int ompi_attr_get_##suffix(void *table, int keyval, type *value, int *flag); \
	EXPORT int ompi_attr_get_##suffix(void *table, int keyval, type *value, int *flag) \
	{ \
		void *object = (void *)rdb_body_of_table(table); \
		int64_t number; \
		int there = 0, err; \
\
		if (!class_at(object)) \
			return rdb_error(MPI_COMM_WORLD, MPI_ERR_COMM, "MPI_Comm_get_attr"); \
		err = rdb_attr_number(class_at(object), object, keyval, &number, &there, "MPI_Comm_get_attr"); \
		*flag = there; \
		if (there && !err) \
			*value = (type)number; \
		return err; \
	}
KEYVALS(fint, MPI_Fint, IN_FORTRAN_INTEGER)
KEYVALS(aint, MPI_Aint, IN_FORTRAN_ADDRESS)

enum { LIBRARY_FORTRAN = 2 }; /* the library's number for Fortran error handlers */

EXPORT MPI_Errhandler ompi_errhandler_create(int kind, void *fn, int language);
EXPORT MPI_Errhandler ompi_errhandler_create(int kind __attribute__((unused)), void *fn, int language)
{
	MPI_Errhandler made;
	int err = rdb_errhandler_create(fn, language == LIBRARY_FORTRAN ? IN_FORTRAN_INTEGER : IN_C, &made);

	return err ? HANDLE(RDB_ERRHANDLER, RDB_NULL_ID) : made;
}

/* An error that the library itself has found; negative codes are internal to it. */
EXPORT int ompi_errhandler_invoke(void *errhandler, void *object, int kind, int code, const char *name);
EXPORT int ompi_errhandler_invoke(void *errhandler __attribute__((unused)), void *object,
				  int kind __attribute__((unused)), int code, const char *name)
{
	unsigned class = class_at(object);

	code = code < 0 ? MPI_ERR_OTHER : code;
	if (class == RDB_WIN || class == RDB_FILE)
		return rdb_error_on(class, object, code, name);
	return rdb_error(class == RDB_COMM ? object : MPI_COMM_WORLD, code, name);
}

/* Fortran's MPI_COMM_DUP_FN and its kin, under each name that a compiler gives them. */
#define PREDEFINED(name, ...) \
	EXPORT void name##_(__VA_ARGS__); \
	EXPORT __typeof__(name##_) name __attribute__((alias(#name "_"))); \
	EXPORT __typeof__(name##_) name##__ __attribute__((alias(#name "_"))); \
	EXPORT void name##_(__VA_ARGS__)
#define UNUSED __attribute__((unused))
#define PREDEFINED_CALLBACKS(kind, type) \
	PREDEFINED(mpi_##kind##dup_fn, MPI_Fint *handle UNUSED, MPI_Fint *keyval UNUSED, type *extra UNUSED, type *in, \
		   type *out, MPI_Fint *flag, MPI_Fint *err) \
	{ \
		*out = *in; \
		*flag = 1; \
		*err = MPI_SUCCESS; \
	} \
	PREDEFINED(mpi_##kind##null_copy_fn, MPI_Fint *handle UNUSED, MPI_Fint *keyval UNUSED, type *extra UNUSED, \
		   type *in UNUSED, type *out UNUSED, MPI_Fint *flag, MPI_Fint *err) \
	{ \
		*flag = 0; \
		*err = MPI_SUCCESS; \
	} \
	PREDEFINED(mpi_##kind##null_delete_fn, MPI_Fint *handle UNUSED, MPI_Fint *keyval UNUSED, type *value UNUSED, \
		   type *extra UNUSED, MPI_Fint *err) \
	{ \
		*err = MPI_SUCCESS; \
	}
PREDEFINED_CALLBACKS(, MPI_Fint)
PREDEFINED_CALLBACKS(comm_, MPI_Aint)
PREDEFINED_CALLBACKS(type_, MPI_Aint)
PREDEFINED_CALLBACKS(win_, MPI_Aint)
