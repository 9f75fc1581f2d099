/* Functions of the program that the core calls: with handles, keyvals and codes as the program knows them. */
#include "shim.h"

typedef int copy_function(void *, int, void *, void *, void *, int *);
typedef int copy_function_int(int, int, void *, void *, void *, int *);
typedef int delete_function(void *, int, void *, void *);
typedef int delete_function_int(int, int, void *, void *);
typedef void errhandler_function(void *, int *, ...);
typedef void user_function(void *, void *, int *, MPI_Datatype *);

/* MPI_COMM_DUP_FN and its kin, in the ABI where they are numbers. */
#define DUP_FUNCTION ((copy_function *)1)

int rdb_call_copy(copy_function *fn, unsigned class, void *handle, int keyval, void *extra, void *in, void *out,
		  int *flag);
int rdb_call_copy(copy_function *fn, unsigned class, void *handle, int keyval, void *extra, void *in, void *out,
		  int *flag)
{
	int64_t native = shim_out(class, handle);
	int rc;

	if (fn == DUP_FUNCTION) {
		*(void **)out = in;
		*flag = 1;
		return 0;
	}
	/* a number or a pointer: the same register */
	rc = fn((void *)(intptr_t)native, shim_keyval_out(keyval), extra, in, out, flag);
	return shim_error_in(rc);
}

int rdb_call_delete(delete_function *fn, unsigned class, void *handle, int keyval, void *value, void *extra);
int rdb_call_delete(delete_function *fn, unsigned class, void *handle, int keyval, void *value, void *extra)
{
	return shim_error_in(
		fn((void *)(intptr_t)shim_out(class, handle), shim_keyval_out(keyval), value, extra));
}

void rdb_call_errhandler(errhandler_function *fn, unsigned class, void *handle, int *code, const char *name);
void rdb_call_errhandler(errhandler_function *fn, unsigned class, void *handle, int *code, const char *name)
{
	int64_t native = shim_out(class, *(void **)handle); /* little endian: an int as well */
	int native_code = shim_error_out(*code);

	fn(&native, &native_code, name);
	*code = shim_error_in(native_code);
}

void rdb_call_op(void *in, void *inout, int *len, void **type, user_function *fn);
void rdb_call_op(void *in, void *inout, int *len, void **type, user_function *fn)
{
	MPI_Datatype native = SHIM_OUT(RDB_TYPE, MPI_Datatype, *type);

	fn(in, inout, len, &native);
}
