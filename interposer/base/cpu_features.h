/* Which instructions the upper half may use, and on which CPU a recording can be replayed.
 *
 * Instructions that few machines have are hidden by default: CPUID tells the program, and ld.so before it, that they
 * are missing. So a recording or image of a big machine also runs on a laptop.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { CPU_TEXT = 160, CPU_WHY = 256 };

/* What rdb's own code needs and this processor, or virtual machine, lacks; NULL: nothing. */
const char *cpu_lacks(void);
/* Describes this CPU and what the program is shown of it, as JSON. For tests, RDB_CPU_LEVEL in the environment lowers
 * the level. */
void cpu_describe(char text[CPU_TEXT]);
/* Can a recording made on the CPU that `text` describes (cpu_describe()) be replayed here? 0: yes; 1: yes, with a
 * remark in `why`; -ENOEXEC: no, `why` has the reason. */
int cpu_suits(const char *text, char why[CPU_WHY]);
/* --cpu: the highest level that the program is shown. False: no such choice. */
bool cpu_choose(const char *name);
/* The option's value, to be passed on over exec. */
const char *cpu_chosen(void);
