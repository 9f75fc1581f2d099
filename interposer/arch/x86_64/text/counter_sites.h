/* A confirmed rdtsc and the instruction after it (together five bytes or more, not relative to rip) become a jump to a
 * stub.  If there is no room for the jump, and for rdtscp, an instruction that traps is used.  The stub's address is
 * chosen so that the byte at the old end of the rdtsc is no instruction: code that jumps there, or a signal handler
 * that returns there, faults and continues in the copy in the stub. */
#pragma once
#include "text/counter_sites.h"

/* Adds a confirmed rdtsc or rdtscp in new text.  False: not possible, so all of them have to trap. */
bool counter_site_add(uint8_t *site, const uint8_t *end);
/* The site that traps at pc, or whose stub traps at pc because the general way is needed; 0: none. */
uint64_t counter_site_asks(uint64_t pc);
/* Is it rdtscp? */
bool counter_site_has_aux(uint64_t at);
/* The stub with this copy. */
uint64_t counter_stub_of(uint64_t tail);

/* The C side of counter_gate.S, on a context after the stub's entry (instructions.c). */
uint64_t counter_general(ucontext_t *uc, uint64_t tls);
/* The fast way: recorded, unless `done` is false. */
struct counter_answer {
	uint64_t value, done;
};
struct counter_answer counter_fast(void);
