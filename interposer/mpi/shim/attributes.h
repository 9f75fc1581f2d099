/* Declarations for the core (stub/) and for functions that another ABI's Fortran library needs (mpich/fortran.c). */
#pragma once
#include <stdint.h>

/* Language in which an attribute was set; as enum rdb_language of the core. */
enum { RDB_IN_C, RDB_IN_FORTRAN_INTEGER, RDB_IN_FORTRAN_ADDRESS };

/* In the core.  rdb_keyval_proxies(): sets the functions by which a keyval's callbacks are called. */
void rdb_keyval_proxies(int id, void *copy, void *delete);
int rdb_attr_set(unsigned class, void *handle, int id, void *value, int language, const char *name);
int rdb_attr_number(unsigned class, void *handle, int id, int64_t *number, int *flag, const char *name);

/* Called by the core; missing in an ABI without such a Fortran library. */
int rdb_proxy_copy(void *proxy, void *user, unsigned class, void *handle, int keyval, void *extra, void *value,
		   void **copy, int *flag) __attribute__((weak));
int rdb_proxy_delete(void *proxy, void *user, unsigned class, void *handle, int keyval, void *value, void *extra)
	__attribute__((weak));

/* callbacks.c: marks the functions of a generalized request as Fortran functions. */
void rdb_generalized_in_fortran(const void *request);
