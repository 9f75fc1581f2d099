/* Makes a system call.  Returns the result or -errno; never touches errno. */
#pragma once
#include "arch/x86_64/base/syscall.h"

static inline long raw_syscall(long nr, long a, long b, long c, long d, long e, long f);
