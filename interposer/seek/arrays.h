/* Predicates over arrays of the program, computed where they lie: all(a > 0), max(abs(u)), allfinite(e).
 *
 * An expression is evaluated element by element, in pieces: a few steps in postfix order over numbers, then one
 * fold over all elements.  Integers of 64 bits and long double are computed in long double, which holds each of
 * them exactly, everything else in double.
 */
#pragma once
#include <stdint.h>
#include "interface/agent.h"

/* Evaluates PLAN into FOUND.  Returns 0, -EINVAL (malformed plan) or -EFAULT (found->index is the address that cannot
 * be read). */
int arrays_fold(const struct agent_array *plan, struct agent_array_found *found);
