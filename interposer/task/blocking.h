/* System calls that may wait for the world: meanwhile another thread has the baton. */
#pragma once
#include "crossing/event.h"

/* Carries out a system call of the program.  Result, -errno or SIGNALS_RESTART. */
long blocking_syscall(long nr, const uint64_t args[6]);
/* futex(2), with the arguments for the kernel; what it writes to upper memory is logged. */
long blocking_futex(struct event *ev, const uint64_t args[6]);
