/* Between the core (stub/) and what another ABI's Fortran library asks for (mpich/fortran.c). */
#ifndef RDB_MPI_SHIM_ATTRIBUTES_H
#define RDB_MPI_SHIM_ATTRIBUTES_H
#include <stdint.h>

/* Who has set an attribute: enum rdb_language of the core. */
enum { RDB_IN_C, RDB_IN_FORTRAN_INTEGER, RDB_IN_FORTRAN_ADDRESS };

/* The core's: a keyval's functions are called by these. */
void rdb_keyval_proxies(int id, void *copy, void *delete);
int rdb_attr_set(unsigned class, void *handle, int id, void *value, int language, const char *name);
int rdb_attr_number(unsigned class, void *handle, int id, int64_t *number, int *flag, const char *name);

/* For the core: calls of such functions; there are none in an ABI without such a library. */
int rdb_proxy_copy(void *proxy, void *user, unsigned class, void *handle, int keyval, void *extra, void *value,
		   void **copy, int *flag) __attribute__((weak));
int rdb_proxy_delete(void *proxy, void *user, unsigned class, void *handle, int keyval, void *value, void *extra)
	__attribute__((weak));

/* callbacks.c: the functions of this generalized request are Fortran's. */
void rdb_generalized_in_fortran(const void *request);

#endif
