/* The FS base, and the GS base, which no Linux program uses. */
#pragma once
#include <stdint.h>

static inline uint64_t thread_pointer(void)
{
	return __builtin_ia32_rdfsbase64();
}

static inline void thread_pointer_set(uint64_t value)
{
	__builtin_ia32_wrfsbase64(value);
}

static inline uint64_t own_pointer(void)
{
	return __builtin_ia32_rdgsbase64();
}

static inline void own_pointer_set(uint64_t value)
{
	__builtin_ia32_wrgsbase64(value);
}
