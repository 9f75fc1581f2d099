/* The machine's part of base/guarded_copy.h. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* The only instruction of guarded_copy() that touches program memory, and where to continue after a fault there. */
extern const char guarded_copy_at[] __attribute__((visibility("hidden")));
extern const char guarded_copy_out[] __attribute__((visibility("hidden")));
/* Calls fn(arg).  True: it returned.  While it runs, *sp is the stack pointer with which a fault handler can go on at
 * guarded_call_out; then this returns false. *sp is 0 before and afterwards. */
bool guarded_call_from(void (*fn)(void *arg), void *arg, uint64_t *sp) __attribute__((visibility("hidden")));
extern const char guarded_call_out[] __attribute__((visibility("hidden")));
