/* memset and memcpy that are never a call: for code in which the compiler must not turn a loop into one. */
#pragma once
#include <stddef.h>
#include "arch/x86_64/base/bytes.h"

static inline void bytes_set(void *to, int byte, size_t n);
static inline void bytes_copy(void *to, const void *from, size_t n);
