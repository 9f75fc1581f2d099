/* Counts that an int cannot hold (MPI-4's functions with large counts). */
#ifndef RDB_MPI_LARGE_H
#define RDB_MPI_LARGE_H
#include <limits.h>
#include "real.h"

/* Has the real MPI MPI_Send_c and its kin? */
#define LARGE_COUNTS (MPI_VERSION >= 4)

#if LARGE_COUNTS
#define LARGE_CALL(name, call) (call)
#else
#define LARGE_CALL(name, call) large_missing(name)
#endif
/* partitioned.c: has it the other additions of MPI-4?  Open MPI 5 has. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define MPI_4 1
#else
#define MPI_4 0
#endif
int64_t addition_missing(const char *name) __attribute__((noreturn));
int large_missing(const char *name) __attribute__((noreturn));

/* Generated: of each function the places of counts and their datatypes, from 1; 0: no more. */
#define LARGE_PLACES 6
extern const uint8_t large_places[][LARGE_PLACES];

/* More elements than an int can count, as one element of a larger datatype: in `copy`, which is returned, or `args`. */
const uint64_t *large_arguments(unsigned index, uint32_t nargs, const uint64_t *args, uint64_t *copy);
bool large_call(unsigned index, const uint64_t *args);

/* Arguments as ints, for an MPI that has no other functions; or the end. */
#define NARROW_ARRAYS 4
struct narrow {
	const char *name;
	void *arrays[NARROW_ARRAYS];
	unsigned n;
};
int narrow_int(const struct narrow *narrow, int64_t value);
int *narrow_array_count(struct narrow *narrow, const MPI_Count *values, int64_t n);
int *narrow_array_aint(struct narrow *narrow, const MPI_Aint *values, int64_t n);
#define narrow_array(narrow, values, n) \
	_Generic((values), const MPI_Aint *: narrow_array_aint, default: narrow_array_count)(narrow, (const void *)(values), n)
void narrow_end(struct narrow *narrow);

#endif
