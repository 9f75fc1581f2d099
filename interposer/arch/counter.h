/* The processor's time counter, which programs can read without a system call. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "arch/x86_64/base/counter.h"

static inline uint64_t counter_now(void);
/* Does it run at a constant rate? */
static inline bool counter_steady(void);
