/* Counts that an int cannot hold (MPI-4's functions with large counts). */
#pragma once
#include <limits.h>
#include "lower/objects/real.h"

/* Whether the real MPI has functions of large counts (MPI_Send_c). */
#define LARGE_COUNTS (MPI_VERSION >= 4)

#if LARGE_COUNTS
#define LARGE_CALL(name, call) (call)
#else
#define LARGE_CALL(name, call) large_missing(name)
#endif
/* partitioned.c: whether it has the other additions of MPI-4, as Open MPI 5 has. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define MPI_4 1
#else
#define MPI_4 0
#endif
int64_t addition_missing(const char *name) __attribute__((noreturn));
int large_missing(const char *name) __attribute__((noreturn));

/* Generated, by function: pairs of argument numbers (from 1) of a count and its datatype; 0: no more. */
#define LARGE_PLACES 6
extern const uint8_t (*large_places)[LARGE_PLACES];

/* Replaces each count that an int cannot hold by one element of a larger datatype, in `copy`, which is returned. */
const uint64_t *large_arguments(unsigned index, uint32_t nargs, const uint64_t *args, uint64_t *copy);
/* Whether the call has such a count. */
bool large_call(unsigned index, const uint64_t *args);

/* Converts arguments to int for an MPI without large counts; ends the process if a value does not fit. */
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
