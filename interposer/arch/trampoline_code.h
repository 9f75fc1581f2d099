/* Writes the code of a trampoline: displaced instructions, comparisons, copies at other addresses.
 *
 * struct plan: the `n` instructions that a patch of PATCH bytes at `pc` displaces. from[] has their addresses, copy[]
 * those of their copies, stops[] is true for a breakpoint; `next` is the first instruction after them.
 *
 * struct code: the code being written, at `at`, up to `end`; `failed`: no room left, or a target out of reach.  Its
 * `data`, shared by trampoline code and handlers, is on a page without code (a store near executed code is slow).
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>
#include "arch/x86_64/text/trampoline_code.h"

/* 0 or -ENOTSUP. */
int plan_make(uint64_t pc, struct plan *p);
/* Is no instruction begun by this byte (Intel SDM vol. 2, appendix A: i64 opcodes in 64-bit mode)?  It raises SIGILL
 * whatever follows, with the context at the instruction. */
bool trampoline_byte_undefined(uint8_t byte);
/* Does an instruction that begins with this byte fault?  The jump of a patch has such a byte wherever a displaced
 * instruction began. */
bool trampoline_byte_faults(uint8_t byte);
/* Can a patch be put at pc, judging from the instructions there? starts: the displaced instructions after the first; a
 * jump to one of them would cost a trap. */
bool trampoline_possible(uint64_t pc, uint64_t starts[4], unsigned *nstarts);

/* Append code that goes to `miss` unless register n, or the word at addr, has the value.  With `hit` (an address
 * shortly before) it goes there if so, and falls through if not. */
void code_begin(struct code *c);
void code_restore(struct code *c, uint8_t restore);
void code_compare_register(struct code *c, unsigned n, uint64_t value);
void code_compare_vector(struct code *c, unsigned n, uint64_t low);
void code_compare_word(struct code *c, uint64_t addr, uint64_t value);
void code_count(struct code *c);
/* Likewise, but restarts at 0 when *event differs from its value at the arrival before. */
void code_count_since(struct code *c, const uint64_t *event);
/* Appends code that goes to `hit` if `quiet` in the data is 0, like code_if_zero, but not the next `skip` times. */
void code_unless_quiet(struct code *c, const uint8_t *hit);
/* Leaves through the pointer stored at `gate`. */
void code_leave(struct code *c, uint64_t gate);
/* Jump after a comparison that holds, or does not. */
void code_if_zero(struct code *c, const uint8_t *hit, uint8_t restore);
void code_unless_zero(struct code *c, const uint8_t *miss);
void code_jump(struct code *c, const uint8_t *to, uint8_t restore);
void code_trap(struct code *c, uint8_t restore);
/* Makes the jump for the patch at pc. */
void code_patch(uint8_t jump[PATCH], uint64_t pc, uint64_t entry);
/* If uc is inside the code: changes it to the equivalent context outside of it.  False: it is not inside. */
bool code_left(const struct code *c, const struct plan *p, ucontext_t *uc);
/* Appends the displaced instructions and the way back. first: how to leave at the first one, which has not been
 * executed yet. */
void code_displaced(struct code *c, struct plan *p, uint8_t first);
