/* RLIMIT_FSIZE (setrlimit(2)): how long the program may make a file. */
#pragma once
#include <stdint.h>

/* Carries out a system call of the program: the kernel's limit is the program's for as long as a call takes that may
 * make a file longer.  Result, -errno or SIGNALS_RESTART. */
long file_limit_call(long nr, const uint64_t a[6]);
