#include "base/cpu_features.h"
#include <cpuid.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "arch/x86_64/base/cpu_level.h"

enum { SHOWN_BY_DEFAULT = 3, ALL = 4 };

static unsigned highest_shown = SHOWN_BY_DEFAULT;

static const struct choice {
	const char *name;
	unsigned level;
} choices[] = {{"native", ALL}, {"x86-64-v3", 3}, {"x86-64-v2", 2}};

struct cpu {
	unsigned level;
	uint32_t xsave_bytes; /* size of the enabled state: that of a signal frame's vector state */
	char vendor[13];
};

static unsigned own_level(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("x86-64-v4")   ? 4
	       : __builtin_cpu_supports("x86-64-v3") ? 3
	       : __builtin_cpu_supports("x86-64-v2") ? 2
						     : 1;
}

static void ask(struct cpu *out)
{
	static struct cpu here; /* cached: a CPUID in a virtual machine costs microseconds */
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
	/* leaf 0xd: EBX is the size of the state that XCR0 enables */
	if (__get_cpuid_count(0xd, 0, &a, &b, &c, &d))
		here.xsave_bytes = b;
	*out = here;
}

/* Checks the instructions with which this half is compiled (-msse4.2) or written (gate.S). */
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
	ask(&here);
	return here.level < highest_shown ? here.level : highest_shown;
}

void cpu_describe(char text[CPU_TEXT])
{
	struct cpu here;
	ask(&here);
	snprintf(text, CPU_TEXT, "{\"vendor\":\"%s\",\"level\":%u,\"shown\":%u,\"xsave_bytes\":%u}", here.vendor,
		 here.level, cpu_shown_level(), here.xsave_bytes);
}

int cpu_suits(const char *text, char why[CPU_WHY])
{
	struct cpu here, then = {0};
	unsigned shown;
	if (sscanf(text, "{\"vendor\":\"%12[^\"]\",\"level\":%u,\"shown\":%u,\"xsave_bytes\":%u", then.vendor,
		   &then.level, &shown, &then.xsave_bytes) != 4)
		return 0;
	ask(&here);
	if (shown > here.level) {
		snprintf(
			why, CPU_WHY,
			"recorded with instructions up to x86-64-v%u, this CPU has x86-64-v%u; replay it on a newer one, "
			"or record with --cpu=x86-64-v%u",
			shown, here.level, here.level);
		return -ENOEXEC;
	}
	if (!strcmp(then.vendor, here.vendor) && then.xsave_bytes == here.xsave_bytes)
		return 0;
	snprintf(why, CPU_WHY,
		 "recorded on another kind of CPU (%s, XSAVE area of %u bytes; here %s, %u bytes): approximate "
		 "reciprocals (RCPPS, RSQRTPS) and signal frames may differ",
		 then.vendor, then.xsave_bytes, here.vendor, here.xsave_bytes);
	return 1;
}
