/* Calls of the program's functions by the stub; in another ABI's libmpi their arguments are translated. */
#pragma once
#include "stub.h"

#ifdef RDB_CORE
int rdb_call_copy(MPI_Comm_copy_attr_function *fn, unsigned class, void *handle, int keyval, void *extra, void *in,
		  void *out, int *flag);
int rdb_call_delete(MPI_Comm_delete_attr_function *fn, unsigned class, void *handle, int keyval, void *value,
		    void *extra);
void rdb_call_errhandler(MPI_Comm_errhandler_function *fn, unsigned class, void *handle, int *code, const char *name);
int rdb_error_of_program(int code);
/* Call the function `fn`. */
void rdb_call_op(void *in, void *inout, int *len, MPI_Datatype *type, MPI_User_function *fn);
void rdb_call_op_c(void *in, void *inout, int *len, MPI_Datatype *type, MPI_User_function_c *fn);
/* The ABI's Fortran library calls Fortran functions itself, by proxies that it has set for the keyval. */
int rdb_proxy_copy(void *proxy, void *user, unsigned class, void *handle, int keyval, void *extra, void *value,
		   void **copy, int *flag) __attribute__((weak));
int rdb_proxy_delete(void *proxy, void *user, unsigned class, void *handle, int keyval, void *value, void *extra)
	__attribute__((weak));
#define rdb_fortran_copy(fn, class, handle, keyval, extra, in, out, flag, language) MPI_ERR_OTHER
#define rdb_fortran_delete(fn, class, handle, keyval, value, extra, language) MPI_ERR_OTHER
#define rdb_fortran_errhandler(fn, class, handle, code) ((void)0)
#else
int rdb_fortran_copy(void *fn, unsigned class, void *handle, int keyval, int64_t extra, int64_t in, int64_t *out,
		     int *flag, enum rdb_language language);
int rdb_fortran_delete(void *fn, unsigned class, void *handle, int keyval, int64_t value, int64_t extra,
		       enum rdb_language language);
#define rdb_error_of_program(code) (code)
#define rdb_proxy_copy(...) MPI_ERR_OTHER
#define rdb_proxy_delete(...) MPI_ERR_OTHER
void rdb_fortran_errhandler(void *fn, unsigned class, void *handle, int *code);
#define rdb_call_copy(fn, class, handle, keyval, extra, in, out, flag) fn(handle, keyval, extra, in, out, flag)
#define rdb_call_delete(fn, class, handle, keyval, value, extra) fn(handle, keyval, value, extra)
#define rdb_call_errhandler(fn, class, handle, code, name) fn((void *)(handle), code, name)
#endif
