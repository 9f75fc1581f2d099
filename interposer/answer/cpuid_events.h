/* CPUID of the upper half: its answer names the core (APIC ids), and the machine.  It is patched to an
 * instruction of the same length that faults, and answered as an event. */
#ifndef RDB_CPUID_EVENTS_H
#define RDB_CPUID_EVENTS_H
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* mixed: data may lie between the instructions. */
void cpuid_look(uint8_t *begin, uint8_t *end, bool mixed);
/* SIGILL at uc: by one of those?  Then it is answered. */
bool cpuid_fault(ucontext_t *uc);

#endif
