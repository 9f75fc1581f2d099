/* Functions of libmpi that MPICH's Fortran library, which runs in the program, needs besides the C functions: for
 * attributes whose values are numbers and whose callbacks the Fortran library calls itself, by proxies. */
#include "attributes.h"
#include "shim.h"

/* Kind of a value: a pointer, a number of the size of an address, a number of the size of an integer. */
enum { VALUE_POINTER = 0, VALUE_ADDRESS = 1, VALUE_INTEGER = 3 };

static int language(int type)
{
	return type == VALUE_POINTER   ? RDB_IN_C
	       : type == VALUE_INTEGER ? RDB_IN_FORTRAN_INTEGER
				       : RDB_IN_FORTRAN_ADDRESS;
}

typedef int copy_proxy(void *user, int handle, int keyval, void *extra, int type, void *value, void **copy, int *flag);
typedef int delete_proxy(void *user, int handle, int keyval, int type, void *value, void *extra);

EXPORT void MPII_Keyval_set_proxy(int keyval, copy_proxy *copy, delete_proxy *delete);
EXPORT void MPII_Keyval_set_proxy(int keyval, copy_proxy *copy, delete_proxy *delete)
{
	rdb_keyval_proxies(shim_keyval_in(keyval), (void *)copy, (void *)delete);
}

int rdb_proxy_copy(void *proxy, void *user, unsigned class, void *handle, int keyval, void *extra, void *value,
		   void **copy, int *flag)
{
	return shim_error_in(((copy_proxy *)proxy)(user, (int)shim_out(class, handle), shim_keyval_out(keyval), extra,
						   VALUE_ADDRESS, value, copy, flag));
}

int rdb_proxy_delete(void *proxy, void *user, unsigned class, void *handle, int keyval, void *value, void *extra)
{
	return shim_error_in(((delete_proxy *)proxy)(user, (int)shim_out(class, handle), shim_keyval_out(keyval),
						     VALUE_ADDRESS, value, extra));
}

/* Fortran's predefined keyvals are one more than C's. */
static int c_keyval(int keyval)
{
	return shim_keyval_in(keyval) == INT32_MAX ? keyval - 1 : keyval;
}

static int set(unsigned class, int64_t handle, int keyval, void *value, int type)
{
	return shim_error_out(rdb_attr_set(class, shim_in(class, handle), shim_keyval_in(keyval), value, language(type),
					   "MPI_Comm_set_attr"));
}

static int get(unsigned class, int64_t handle, int keyval, void *value, int *flag)
{
	int known = c_keyval(keyval), err;
	int64_t number = 0;

	err = rdb_attr_number(class, shim_in(class, handle), shim_keyval_in(known), &number, flag, "MPI_Comm_get_attr");
	if (!err && *flag)
		*(int64_t *)value = shim_attribute_value(known, number);
	return shim_error_out(err);
}

#define ATTRIBUTES(name, class) \
	EXPORT int MPII_##name##_set_attr(int handle, int keyval, void *value, int type); \
	EXPORT int MPII_##name##_set_attr(int handle, int keyval, void *value, int type) \
	{ \
		return set(class, handle, keyval, value, type); \
	} \
	EXPORT int MPII_##name##_get_attr(int handle, int keyval, void *value, int *flag, int type); \
	EXPORT int MPII_##name##_get_attr(int handle, int keyval, void *value, int *flag, int type) \
	{ \
		(void)type; \
		return get(class, handle, keyval, value, flag); \
	}
ATTRIBUTES(Comm, RDB_COMM)
ATTRIBUTES(Type, RDB_TYPE)
ATTRIBUTES(Win, RDB_WIN)

EXPORT void MPII_Grequest_set_lang_f77(MPI_Request request);
EXPORT void MPII_Grequest_set_lang_f77(MPI_Request request)
{
	rdb_generalized_in_fortran(SHIM_IN(RDB_REQUEST, request));
}
