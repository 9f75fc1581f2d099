/* CPUID of the upper half: its answer names the core (APIC ids), and the machine.  It is patched to an
 * instruction of the same length that faults, and answered as an event.  Where text may hold one that nobody has looked at it
 * faults by itself, if the processor can do that (arch_prctl(2), ARCH_SET_CPUID). */
#ifndef RDB_CPUID_EVENTS_H
#define RDB_CPUID_EVENTS_H
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* The first one from there on, or NULL.  mixed: data may lie between the instructions. */
const uint8_t *cpuid_find(const uint8_t *begin, const uint8_t *from, const uint8_t *end, bool mixed);
void cpuid_look(uint8_t *begin, uint8_t *end, bool mixed);
/* SIGILL or SIGSEGV at uc: by one of those?  Then it is answered. */
bool cpuid_fault(ucontext_t *uc);

#endif
