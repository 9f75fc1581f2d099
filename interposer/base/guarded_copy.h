/* Reads and writes program memory that may not be mapped. */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

/* memcpy up to the first fault. Returns how many bytes were copied. */
size_t guarded_copy(void *to, const void *from, size_t len);
/* Calls fn(arg). False: fn touched memory that is not mapped, and was abandoned there. */
bool guarded_call(void (*fn)(void *arg), void *arg);
/* Call first in a handler of SIGSEGV and SIGBUS. True: the fault was in one of the two functions above, which returns
 * now. */
bool guarded_copy_faulted(ucontext_t *uc);
