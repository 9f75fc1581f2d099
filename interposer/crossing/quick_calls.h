/* Calls that a program makes again and again until something has come: a poll that finds nothing is logged, as one
 * more of those before mostly, without what else the general way does at every event.  That is taken for all else,
 * and after some of them, as with the clock (clock_fast.c).
 */
#ifndef RDB_QUICK_CALLS_H
#define RDB_QUICK_CALLS_H
#include <stdbool.h>
#include <stdint.h>

/* The call was made and its result, 0, is recorded; false: it is to be made. */
bool quick_call(uint32_t fn, uint32_t nargs, const uint64_t *args);
/* One was made in the general way: others may be quick again. */
void quick_calls_again(uint32_t fn);

/* host.c: the plug-in's part */
bool host_may_be_quick(uint32_t fn);
bool host_quick(uint32_t fn, const uint64_t *args);

#endif
