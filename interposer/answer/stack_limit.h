/* RLIMIT_STACK (getrlimit(2)).  The stack does not grow by itself: rdb maps it as long as it may become, at the start and
 * when the program changes the limit. */
#pragma once
#include "crossing/event.h"

/* The length of a stack under that limit. */
uint64_t stack_limit_bytes(uint64_t limit);
/* After the answer of each call, also in a replay. */
void stack_limit_call(const struct event *ev);
