/* A trampoline: a jump put over an instruction, to code that compares the program's registers and memory
 * with a mark, or counts, and traps only at the arrival that is looked for.  An arrival that is not costs
 * a few nanoseconds (an int3 costs microseconds).  One at a time; in replicas only.
 *
 * It uses neither the stack nor flags: comparisons are made of mov, lea and jrcxz.  An instruction of five
 * bytes or more is replaced by a jump.  Of shorter ones several are, and the program may jump to one in
 * the middle: the jump's distance is then chosen so that every such byte, taken as an instruction,
 * faults (instruction punning), and trampoline_fault() goes on with the displaced copy.
 *
 * Breakpoints in the middle of the patch go with the copy: they are no reason for an int3 at the place.
 *
 * The trampoline is mapped, within 2 GB, only while it is armed.  Arm it after the event that comes before
 * the mark, disarm it before anything else looks at memory: hashes, images, snapshots, int3.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>
#include "marks/mark.h"

/* Traps at each arrival at m->pc with the mark's general registers and words: mark_here() has the last
 * word.  -ENOTSUP: not possible there (then use an int3); -EBUSY: one is armed; or -errno. */
int trampoline_arm(const struct mark *m);
/* Traps at the n-th arrival at pc from now (n > 0), and at none after. */
int trampoline_arm_count(uint64_t pc, uint64_t n);
bool trampoline_armed(void);
/* True: going on from pc leads into an armed trampoline. */
bool trampoline_at(uint64_t pc);
/* Arrivals counted, of trampoline_arm_count. */
uint64_t trampoline_count(void);
/* While one that counts is armed: minus the arrivals that are left. */
int64_t *trampoline_left(void);
void trampoline_disarm(void);

/* A SIGTRAP of the trampoline: uc is made the program's own, standing at the place.  False: not ours. */
bool trampoline_trap(ucontext_t *uc);
/* Continues from there, still armed, with the instruction at the place and without another comparison. */
void trampoline_resume(ucontext_t *uc);

/* SIGILL, SIGSEGV or SIGTRAP because the program jumped into the middle of the patched instructions: uc
 * goes on with their copy.  False: not ours. */
bool trampoline_fault(ucontext_t *uc);
/* How often that happened since it was armed: when often, disarm and use an int3. */
uint64_t trampoline_faults(void);

/* uc stands in trampoline code (a signal, or a fault of a displaced instruction). */
bool trampoline_inside(const ucontext_t *uc);
/* Makes uc what it would be without the trampoline: at the place, or at a later instruction. */
void trampoline_leave(ucontext_t *uc);

/* A breakpoint at addr, in the middle of the patch, is met in the copy: no int3 may be put there. */
bool trampoline_carries(uint64_t addr);
/* The SIGTRAP of such a breakpoint: uc is made the program's own, standing at it.  False: not ours. */
bool trampoline_stop(ucontext_t *uc);

/* While the processor carries out one instruction where it is, the patch is out of the way. */
void trampoline_lift(void);
void trampoline_lower(void);
