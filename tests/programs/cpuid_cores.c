/* Asks CPUID on which core it is, on all of them in turn. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <sched.h>
#include <stdio.h>

static unsigned long seen[256];

int main(void)
{
	unsigned a, b, c, d, n = 0;
	cpu_set_t all, one;
	sched_getaffinity(0, sizeof(all), &all);
	for (int round = 0; round < 3; round++)
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
			if (!CPU_ISSET(cpu, &all))
				continue;
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			sched_setaffinity(0, sizeof(one), &one);
			__cpuid(1, a, b, c, d);
			seen[n++ % 256] = b >> 24 | (unsigned long)c << 32;
			if (__get_cpuid_count(0xb, 0, &a, &b, &c, &d))
				seen[n++ % 256] = d;
		}
	__cpuid_count(7, 0, a, b, c, d);
	printf("%d, AVX512F %d\n", n > 0 && seen[0] == seen[0], !!(b & bit_AVX512F));
	return 0;
}
