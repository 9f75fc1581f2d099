/* Predicates over arrays of the program, computed where they lie: all(a > 0), max(abs(u)), allfinite(e).
 *
 * An expression is evaluated element by element, in pieces: a few steps in postfix order over numbers, then one
 * fold over all elements.  Integers of 64 bits and long double are computed in long double, which holds each of
 * them exactly, everything else in double.
 */
#ifndef RDB_ARRAYS_H
#define RDB_ARRAYS_H
#include <stdint.h>
#include "seek/agent.h"

/* PLAN: 0 and FOUND, -EINVAL: it makes no sense, -EFAULT: found->index is an address that cannot be read. */
int arrays_fold(const struct agent_array *plan, struct agent_array_found *found);

#endif
