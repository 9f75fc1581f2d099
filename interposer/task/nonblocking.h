/* Calls that do not wait for their descriptor, the first argument, whatever they find. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* By the descriptor's flags or the call's; also true where there is no such descriptor. */
bool never_blocks(long nr, const uint64_t args[6]);
