/* Two registers of a thread: the thread pointer of the half that runs, and a pointer that only the lower half uses
 * (base/thread.h, thread_self()). */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>
#include "arch/x86_64/base/thread_pointer.h"

static inline uint64_t thread_pointer(void);
static inline void thread_pointer_set(uint64_t value);
static inline uint64_t own_pointer(void);
static inline void own_pointer_set(uint64_t value);

/* Call before the first use.  If the kernel has not enabled the instructions that access these registers, they fault
 * and a handler emulates them. 0 or -errno. */
int thread_pointer_prepare(void);
/* SIGILL at one of these instructions in the lower half: emulates it.  True: done, go on after it.  Executes none
 * itself. */
bool thread_pointer_fault(ucontext_t *uc);
