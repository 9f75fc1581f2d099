/* A place in a loop in which threads wait by looking at memory, while recording: so that they give way there at once.
 *
 * The instruction there, and what else a jump needs room for, is displaced into a stub, as by a trampoline.  The stub counts
 * arrivals since the last event and goes on; or, unless it is quiet, into the lower half through spin_gate.S.  The
 * count is what tells an arrival from all others: nothing else of the program has to be kept of it.
 *
 * Nobody but the recording process knows of it: images and hashes hold the program's own bytes.
 */
#ifndef RDB_SPIN_SITES_H
#define RDB_SPIN_SITES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

struct spin_site;

/* At pc, in text that the program does not write to.  False: not possible there. */
bool spin_site_add(uint64_t pc);
bool spin_site_at(uint64_t pc);
/* Through the gate came uc, which becomes the program's own, standing at the site.  It is quiet until spin_sites_wake(). */
struct spin_site *spin_site_arrived(ucontext_t *uc);
/* It stands there for the n-th time since the last event; 0: nobody knows. */
uint64_t spin_site_arrivals(struct spin_site *s);
/* uc goes on from wherever it stands. */
void spin_site_leads_on(struct spin_site *s, ucontext_t *uc);
/* The thread has been looked at there: no more quiet, unless it has often been in vain. */
void spin_site_of_use(struct spin_site *s, bool waits);
void spin_sites_wake(void);
/* The instruction at pc has been carried out in emulate(). */
void spin_sites_passed(uint64_t pc);

extern unsigned spin_sites_count;

/* Makes uc what it would be without stubs. */
void spin_sites_leave(ucontext_t *uc);
/* A fault of a jump into the middle of a patch: uc goes on in the copy.  False: it is another one. */
bool spin_sites_fault(ucontext_t *uc);
/* For good: nothing is recorded any more. */
void spin_sites_lift(void);
/* In a forked child, where nobody stands in a stub: none of it is there any more. */
void spin_sites_settle(void);
#endif
