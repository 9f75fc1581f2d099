/* rdtsc without a trap: while recording, a confirmed `rdtsc` and the instruction behind it (five bytes or more, that
 * reads nothing relative to itself) become a jump to a stub, and from there through a gate (tsc_gate.S) to one small
 * record, or to the general way on a context as in hot_sites.h; where a signal is due as well, to a trap that is
 * answered as ever.  Where there is no room for the jump, and in place of rdtscp, stands an instruction that traps:
 * slow there, but the counter need not trap everywhere.
 *
 * Nobody but the recording process knows of it: images and hashes hold the program's own bytes, so a replay's rdtsc
 * traps as if there were none of this.  Whoever jumps, or returns from a signal handler, behind the rdtsc finds a byte
 * there that is no instruction (the stub's place is chosen so), and goes on with the copy in the stub.
 */
#ifndef RDB_TSC_SITES_H
#define RDB_TSC_SITES_H
#include "base/lower.h"
#include "space/patches.h"

/* A confirmed rdtsc or rdtscp in new text.  False: not possible there, then all of them have to trap. */
bool tsc_site_add(uint8_t *site, const uint8_t *end);
/* Patches what was added, or takes all patches back. */
void tsc_sites_put(void);
void tsc_sites_lift(void);
/* In a child that writes an image: memory becomes what a replay has. */
void tsc_sites_settle(void);
static inline bool tsc_sites_any(void)
{
	return tsc_sites_count;
}

/* The site that traps here, or whose stub does because the general way is due; 0: none. */
uint64_t tsc_site_asks(uint64_t pc);
/* Is it rdtscp? */
bool tsc_site_has_aux(uint64_t at);
/* Behind a patched rdtsc: where to go on instead; 0: nothing of the kind. */
uint64_t tsc_site_behind(uint64_t pc);
/* uc in a stub whose event is over: makes it the program's own. */
void tsc_stub_leave(ucontext_t *uc);

/* The stub that goes on there. */
uint64_t tsc_stub_of(uint64_t tail);

/* tsc_gate.S */
void tsc_gate(void);
/* Its C side, on a context that goes on behind the stub's entry (instructions.c). */
uint64_t tsc_general(ucontext_t *uc, uint64_t fs_base);
/* And the short way: recorded, unless `done` is false. */
struct tsc_answer {
	uint64_t value, done;
};
struct tsc_answer tsc_fast(void);

#endif
