/* RLIMIT_FSIZE (setrlimit(2)): how long the program may make a file. */
#pragma once
#include <stdint.h>
#include "crossing/event.h"

/* Carries out a system call of the program, with the arguments for the kernel.  While a call takes that may make a file
 * longer, the kernel's limit is the program's.  Result, -errno or SIGNALS_RESTART. */
long file_limit_call(const struct event *ev, const uint64_t args[6]);
