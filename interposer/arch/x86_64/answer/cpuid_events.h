/* CPUID of the upper half: its answer identifies the core (APIC ids) and the machine.  It is patched to a faulting
 * instruction of the same length and answered as an event.  If text may hold an unexamined CPUID, the instruction
 * itself faults, if the processor can do that (arch_prctl(2), ARCH_SET_CPUID). */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* The first CPUID at or after `from`, or NULL. mixed: data may lie between the instructions. */
const uint8_t *cpuid_find(const uint8_t *begin, const uint8_t *from, const uint8_t *end, bool mixed);
void cpuid_look(uint8_t *begin, uint8_t *end, bool mixed);
/* Was SIGILL or SIGSEGV at uc caused by a CPUID?  Then answers it. */
bool cpuid_fault(ucontext_t *uc);
