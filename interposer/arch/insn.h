/* The shape of one instruction. struct insn has its `bytes` and `len`, and tells whether it `jumps` (may continue
 * elsewhere than at the next instruction), has a `memory` operand, or is a `string` instruction
 * (arch/string_insn.h). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>
#include "arch/x86_64/text/decode.h"

/* 0, or -EINVAL: not understood, or more than `avail` bytes long. */
int decode(const uint8_t *bytes, size_t avail, struct insn *in);
/* Address of the memory operand, given the registers before the instruction. */
uint64_t decode_address(const struct insn *in, const ucontext_t *uc);

/* Is it the pause hint of a polling loop?  Is it an atomic read-modify-write?  Does it keep its progress in a vector
 * register when it faults half-way? */
bool insn_pauses(const struct insn *in);
bool insn_atomic(const struct insn *in);
bool insn_gathers(const struct insn *in);
/* Does it change an integer in memory in two steps, between which other processors may store there?  Returns the
 * integer's size in bytes, or 0. */
unsigned insn_changes(const struct insn *in);
/* Does it access its memory operand?  Likewise, where that is a global, or a local of the function. */
bool insn_touches(const struct insn *in);
bool insn_touches_variable(const struct insn *in);
/* Does it access memory that is not near the stack or frame pointer? */
bool insn_touches_shared(const struct insn *in);
/* Where the program probably continues after the instruction at pc: a conditional jump backwards is assumed to be a
 * loop. 0: unknown. */
uint64_t insn_likely_next(const struct insn *in, uint64_t pc);
