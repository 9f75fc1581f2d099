/* Calls that have moved a part of what they were asked to when a signal came of which the program knows nothing: the
 * rest is moved as well, since on a descriptor that blocks a program need not expect less. */
#ifndef RDB_PARTIAL_H
#define RDB_PARTIAL_H
#include <stdbool.h>
#include <stdint.h>

/* How many bytes it is to move; 0: it may move fewer at any time. */
uint64_t partial_asks(long nr, const uint64_t args[6]);
/* After `done` bytes, which are fewer: the call that goes on (its arguments in rest), its number. */
long partial_rest(long nr, const uint64_t args[6], uint64_t done, uint64_t rest[6]);

#endif
