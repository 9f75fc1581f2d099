/* Which instructions the upper half may use, and on which CPU a recording can be replayed.
 *
 * Features above x86-64-v3 are hidden by default, so that a recording or an image from a big machine runs
 * on a laptop: CPUID gets an answer without them (cpuid_events.h), also ld.so's, which tells the C library and
 * where to search for libraries (glibc-hwcaps/x86-64-v4).
 */
#ifndef RDB_CPU_FEATURES_H
#define RDB_CPU_FEATURES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpu {
	unsigned level;       /* x86-64-vN (psABI AMD64, "microarchitecture levels") */
	uint32_t xsave_bytes; /* of the enabled state: the size of what a signal frame holds */
	char vendor[13];
};

/* What rdb's own code needs and this processor, or the virtual machine, lacks; NULL: nothing. */
const char *cpu_lacks(void);
/* This machine's.  RDB_CPU_LEVEL in the environment lowers the level: for tests. */
void cpu_describe(struct cpu *out);
/* --cpu=native, x86-64-v2, x86-64-v3: the highest level that the program is shown.  False: no such one. */
bool cpu_choose(const char *name);
/* The option's value, to hand on over exec. */
const char *cpu_chosen(void);
/* The level that the program is shown. */
unsigned cpu_shown_level(void);

#endif
