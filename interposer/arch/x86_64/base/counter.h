#pragma once
#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>

static inline uint64_t counter_now(void)
{
	return __builtin_ia32_rdtsc();
}

/* CPUID 0x80000007, EDX bit 8: Intel SDM vol. 3, 18.17.1 */
static inline bool counter_steady(void)
{
	unsigned a, b, c, d;
	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}
