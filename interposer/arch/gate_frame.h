/* struct gate_frame: the registers of the upper half when it called the gate (its thread pointer `tls` and the
 * callee-saved ones). struct gate_state: what the gate itself needs of a thread (base/thread.h). */
#pragma once
#include <stdint.h>
#include <ucontext.h>
#include "arch/x86_64/base/gate_frame.h"

/* Address of the call instruction; return address; stack pointer after the return. */
static inline uint64_t gate_frame_asks_at(const struct gate_frame *frame);
static inline uint64_t gate_frame_returns_to(const struct gate_frame *frame);
static inline uint64_t gate_frame_sp(const struct gate_frame *frame);
/* Make uc, which is all zero, the program's context before the call; after it; after the return of an upcall that the
 * lower half made during it (gate_asm.h, gate_upcall). */
void gate_frame_before(ucontext_t *uc, const struct gate_frame *frame);
void gate_frame_behind(ucontext_t *uc, const struct gate_frame *frame, int64_t result);
void gate_frame_behind_upcall(ucontext_t *uc, const struct gate_frame *frame, uint64_t result);

/* Initialises the state of a new thread whose lower stack begins at lower_sp. */
void gate_state_begin(struct gate_state *state, uint64_t lower_sp);
