/* Why this rank cannot be in a checkpoint without a log. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* NULL: nothing is against it. */
const char *objections(void);
/* True: what is against it may soon be over; the rank goes on, and asks again.  Child processes are mostly short
 * helpers (system(3), popen(3)): true for some seconds of a generation, then false. */
bool objections_may_pass(uint64_t generation);
