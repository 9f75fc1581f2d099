#include <cpuid.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu_features.h"

enum { SHOWN_BY_DEFAULT = 3, ALL = 4 };

static unsigned highest_shown = SHOWN_BY_DEFAULT;

static const struct choice {
	const char *name;
	unsigned level;
} choices[] = {{"native", ALL}, {"x86-64-v3", 3}, {"x86-64-v2", 2}};

static unsigned own_level(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("x86-64-v4")   ? 4
	       : __builtin_cpu_supports("x86-64-v3") ? 3
	       : __builtin_cpu_supports("x86-64-v2") ? 2
						     : 1;
}

void cpu_describe(struct cpu *out)
{
	static struct cpu here; /* a CPUID in a virtual machine costs microseconds */
	unsigned a = 0, b = 0, c = 0, d = 0;
	const char *lower_level = getenv("RDB_CPU_LEVEL");
	unsigned at_most = lower_level ? (unsigned)atoi(lower_level) : 0;
	if (here.level) {
		*out = here;
		return;
	}
	here.level = own_level();
	if (at_most && at_most < here.level)
		here.level = at_most;
	if (__get_cpuid(0, &a, &b, &c, &d)) {
		memcpy(here.vendor, &b, 4);
		memcpy(here.vendor + 4, &d, 4);
		memcpy(here.vendor + 8, &c, 4);
	}
	/* leaf 0xd: EBX is the size of what XCR0 enables now */
	if (__get_cpuid_count(0xd, 0, &a, &b, &c, &d))
		here.xsave_bytes = b;
	*out = here;
}

/* The instructions that this half is compiled with (-msse4.2) or written with (gate.S). */
const char *cpu_lacks(void)
{
	unsigned a, b, c, d;
	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSE4_2) || !(c & bit_POPCNT))
		return "SSE4.2 and POPCNT";
	return c & bit_OSXSAVE && c & bit_AVX ? NULL : "AVX";
}

bool cpu_choose(const char *name)
{
	for (unsigned i = 0; i < sizeof(choices) / sizeof(*choices); i++)
		if (!strcmp(name, choices[i].name)) {
			highest_shown = choices[i].level;
			return true;
		}
	return false;
}

const char *cpu_chosen(void)
{
	unsigned i = 0;
	while (choices[i].level != highest_shown)
		i++;
	return choices[i].name;
}

unsigned cpu_shown_level(void)
{
	struct cpu here;
	cpu_describe(&here);
	return here.level < highest_shown ? here.level : highest_shown;
}
