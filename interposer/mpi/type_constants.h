/* Constants among the integers of a datatype's constructor (MPI-4.0, 5.1.13): both halves translate them, each with the
 * MPI_COMBINER_* of its own MPI. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Translates those among the n integers, if the combiner has some.  Of MPI_Type_create_darray the last ones are the
 * distributions, their arguments, the grid and the order, also with large counts. */
static inline void type_constants(int combiner, int *i, int64_t n, int (*order)(int), int (*distribution)(int),
				  int (*argument)(int))
{
	const bool darray = combiner == MPI_COMBINER_DARRAY;
	if (n < 2 || (!darray && combiner != MPI_COMBINER_SUBARRAY))
		return;
	i[n - 1] = order(i[n - 1]);
	const int64_t dims = darray && n > 3 ? i[2] : 0, first = n - 1 - 3 * dims;
	for (int64_t k = first; dims > 0 && first > 2 && k < first + dims; k++) {
		i[k] = distribution(i[k]);
		i[k + dims] = argument(i[k + dims]);
	}
}
