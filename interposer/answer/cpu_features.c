#include <cpuid.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "answer/cpu_features.h"
#include "log/log_reader.h"
#include "base/lower.h"

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

/* ---- on another CPU ---- */

struct recorded {
	struct cpu cpu;
	unsigned shown;
};

/* Only what meta.c writes: "cpu":{"vendor":"..","level":N,"shown":N,"xsave_bytes":N} */
static bool parse(const char *text, size_t len, struct recorded *out)
{
	static const char key[] = "\"cpu\":{\"vendor\":\"";
	const char *at = memmem(text, len, key, sizeof(key) - 1);
	char copy[160];
	if (!at)
		return false;
	at += sizeof(key) - 1;
	size_t n = len - (size_t)(at - text);
	if (n >= sizeof(copy))
		n = sizeof(copy) - 1;
	memcpy(copy, at, n);
	copy[n] = 0;
	return sscanf(copy, "%12[^\"]\",\"level\":%u,\"shown\":%u,\"xsave_bytes\":%u", out->cpu.vendor, &out->cpu.level,
		      &out->shown, &out->cpu.xsave_bytes) == 4;
}

static bool read_recorded(const char *dir, struct recorded *out)
{
	struct log_reader reader;
	bool found = false;
	if (log_reader_open(&reader, dir))
		return false; /* whoever reads the log itself says why */
	const struct log_record *rec = log_reader_next(&reader);
	if (rec && rec->kind == LOG_META)
		for (const struct log_chunk *c = NULL; !found && (c = log_chunk_next(rec, c));)
			found = parse((const char *)(c + 1), c->len, out);
	log_reader_close(&reader);
	return found;
}

int cpu_check_recording(const char *dir)
{
	struct recorded then = {0};
	struct cpu here;
	if (!read_recorded(dir, &then))
		return 0;
	cpu_describe(&here);
	if (then.shown > here.level) {
		rdb_warn("%s: recorded with instructions up to x86-64-v%u, this CPU has x86-64-v%u; replay it on a "
			 "newer one, or record with --cpu=x86-64-v%u",
			 dir, then.shown, here.level, here.level);
		return -ENOEXEC;
	}
	if (strcmp(then.cpu.vendor, here.vendor) || then.cpu.xsave_bytes != here.xsave_bytes)
		rdb_warn("%s: recorded on another kind of CPU (%s, %u bytes of state; here %s, %u): approximate "
			 "reciprocals and signal frames may differ",
			 dir, then.cpu.vendor, then.cpu.xsave_bytes, here.vendor, here.xsave_bytes);
	return 0;
}
