/* A site in a loop in which threads wait by reading memory: while recording they give way there at once.  With --chaos
 * also a site that was picked at random, where a thread may be late (task/chaos.h).
 *
 * The instruction there, and others that a jump needs room for, are displaced into a stub, like a trampoline's.  The
 * stub counts arrivals since the last event and continues; unless it is quiet, it enters the lower half through
 * spin_gate.S.  The count tells one arrival from all others, so nothing else of the program needs to be kept for that.
 *
 * Only the recording process has these patches: images and hashes contain the program's own bytes.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

struct spin_site;

/* Patches pc, in text that the program does not write to.  turn: instructions of a turn of the spin at most; 0: the
 * place was picked at random.  False: not possible there. */
bool spin_site_add(uint64_t pc, unsigned turn);
unsigned spin_site_turn(const struct spin_site *s);
bool spin_site_at(uint64_t pc);
/* Call when uc came through the gate: makes it the program's own context, at the site.  The site is quiet until
 * spin_sites_wake(). */
struct spin_site *spin_site_arrived(ucontext_t *uc);
/* Number of this arrival since the last event, from 1; 0: unknown. */
uint64_t spin_site_arrivals(struct spin_site *s);
/* Lets uc go on; at a displaced instruction it continues in the copy. */
void spin_site_leads_on(struct spin_site *s, ucontext_t *uc);
/* The spin at the site was examined: the site is not quiet any more, but each time in vain doubles the arrivals that
 * pass before it is examined again. */
void spin_site_of_use(struct spin_site *s, bool waits);
void spin_sites_wake(void);
/* Counts an instruction that emulate() has carried out. */
void spin_sites_passed(uint64_t pc);

extern unsigned spin_sites_count;

/* If uc is in a stub: makes it the equivalent context without stubs. */
void spin_sites_leave(ucontext_t *uc);
/* If uc is to continue in the middle of a patch: it continues in the copy. */
void spin_sites_enter(ucontext_t *uc);
/* A fault caused by a jump into the middle of a patch: uc continues in the copy.  False: another fault. */
bool spin_sites_fault(ucontext_t *uc);
/* Removes all sites, when nothing is recorded any more. */
void spin_sites_lift(void);
/* In a forked child, in which no thread is in a stub: removes all traces. */
void spin_sites_settle(void);
