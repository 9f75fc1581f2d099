/* The upper half's libmpi for an ABI that is not Open MPI's: what is translated, and how.
 *
 * The stub proper (stub/, "the core") is compiled into it with hidden names; what the program calls
 * is a shim (generated, gen/shim.py) in front of each function.  native.h has the ABI's own types.
 */
#ifndef RDB_MPI_SHIM_H
#define RDB_MPI_SHIM_H
#include <stddef.h>
#include <stdint.h>
#include "functions.h"
#include "crossing/gate.h"
#include "handles.h"

#define EXPORT __attribute__((visibility("default")))
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef ptrdiff_t MPI_Aint;
typedef int64_t MPI_Count, MPI_Offset;
typedef int MPI_Fint;

/* The core's MPI_Status. */
struct rdb_status {
	int source, tag, error, cancelled;
	size_t bytes;
};

#include "constants.h"
#include "native.h"

/* Values of the ABI's predefined handles, by class and id; generated. */
struct shim_values {
	const int64_t *list;
	uint32_t count;
};
extern const struct shim_values shim_values[RDB_CLASSES];
uint32_t shim_predefined_id(unsigned class, int64_t value);
extern const struct rdb_predef_table rdb_predefined; /* the core's */

void *shim_in(unsigned class, int64_t native);
int64_t shim_out(unsigned class, const void *core);
#define SHIM_IN(class, handle) shim_in(class, (int64_t)(intptr_t)(handle))
#define SHIM_OUT(class, type, core) ((type)(intptr_t)shim_out(class, core))

static inline const void *shim_buffer_in(const void *buffer)
{
	return buffer == SHIM_IN_PLACE ? CORE_IN_PLACE : buffer == SHIM_BOTTOM ? CORE_BOTTOM : buffer;
}
static inline int shim_ignored(const MPI_Status *status)
{
	return status == SHIM_STATUS_IGNORE;
}
const void *shim_weights_in(const void *weights);

/* Of keyvals the program's own are moved out of the way of the ABI's predefined ones. */
int shim_keyval_in(int keyval);
int shim_keyval_out(int keyval);

/* attributes.c: predefined attributes, after the core has answered; returns the ABI's error code. */
int shim_attribute(int rc, int keyval, const int **value, const int *flag);
#define SHIM_GET_ATTR(name, class, handle_type) \
	extern int core_##name(const void *, int, const void *, const void *); \
	EXPORT int P##name(handle_type handle, int keyval, void *value, int *flag); \
	EXPORT int P##name(handle_type handle, int keyval, void *value, int *flag) \
	{ \
		int rc = core_##name(SHIM_IN(class, handle), shim_keyval_in(keyval), value, flag); \
\
		return shim_attribute(rc, keyval, value, flag); \
	} \
	SHIM_ALIAS(name)

/* How many datatypes MPI_Alltoallw and its neighbourhood kin are given. */
int shim_peers(MPI_Comm comm);
int shim_degree(MPI_Comm comm, int out);

/* Arrays in the core's types: on the stack while they are small. */
void *shim_map(size_t bytes);
void shim_unmap(void *at, size_t bytes);
#define SHIM_SMALL 64
#define SHIM_ROOM(type, name, n) \
	type small_##name[SHIM_SMALL]; \
	type *name = (n) <= SHIM_SMALL ? small_##name : shim_map((size_t)(n) * sizeof(type))
#define SHIM_DONE(name, n) \
	if (name != small_##name) \
	shim_unmap(name, (size_t)(n) * sizeof(*name))

#define SHIM_ALIAS(name) EXPORT __typeof__(P##name) name __attribute__((weak, alias("P" #name)));

/* The core's. */
void *rdb_alloc(size_t bytes);
void rdb_free(void *piece, size_t bytes);
void rdb_absent(const char *name) __attribute__((noreturn));
void rdb_internal(const char *name) __attribute__((noreturn));
#define SHIM_ABSENT(name) \
	EXPORT void P##name(void); \
	EXPORT void P##name(void) \
	{ \
		rdb_absent(#name); \
	} \
	SHIM_ALIAS(name)
#define SHIM_INTERNAL(name) \
	EXPORT void name(void); \
	EXPORT void name(void) \
	{ \
		rdb_internal(#name); \
	}

#endif
