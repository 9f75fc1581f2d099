/* Calls that a program makes again and again until something has come.  A poll that finds nothing is only logged,
 * mostly as one more repetition, without what the general way does at every event.  All other calls take the general
 * way, and so does one of these after a while, as with the clock (clock_fast.c).
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* True: the call was made and its result, 0, is recorded.  False: the caller has to make it. */
bool quick_call(uint32_t fn, uint32_t nargs, const uint64_t *args);
/* A call was made in the general way: others may be quick again. */
void quick_calls_again(uint32_t fn);

/* host.c: the plug-in's part */
bool host_may_be_quick(uint32_t fn);
/* Is its result the time, and nothing else? */
bool host_tells_time(uint32_t fn);
bool host_quick(uint32_t fn, const uint64_t *args);
