#pragma once
#include <stdint.h>
#include "arch/x86_64/interface/gate_call.h"

/* Registers of the upper half when it called the gate; lies on the lower stack (gate.S). */
struct gate_frame {
	uint64_t tls;
	uint64_t r15, r14, r13, r12, rbp, rbx;
	uint64_t sp; /* points at the return address */
	uint64_t fn, nargs, args;
};

/* The floating-point environment at the call, GATE_FLOATS bytes below the frame; gate.S uses these offsets. */
struct gate_floats {
	uint32_t mxcsr;
	uint16_t status, control; /* of x87 */
};
enum { GATE_FLOATS = 72 };

/* One per thread, at the address in its GS base; gate.S uses these offsets. */
struct gate_state {
	uint64_t lower_sp;  /* 0: stack pointer at which the next hypercall puts its frame */
	uint64_t lower_tls; /*  8: the lower half's thread pointer */
	uint64_t trap;      /* 16: nonzero: SIGTRAP at the first upper instruction after leaving */
	uint64_t avx512;    /* 24: nonzero: there is AVX-512 state to clear on return */
	uint64_t upcall_sp; /* 32: lower stack of the innermost upcall */
	uint64_t go_on;     /* 40: hot_gate.S: address to which it returns */
	uint64_t vectors;   /* 48: nonzero: vector state need not be cleared, nothing is recorded */
	uint64_t in_use;    /* 56: nonzero: XGETBV tells which state components are in use */
};

static inline uint64_t gate_frame_returns_to(const struct gate_frame *frame)
{
	return *(const uint64_t *)frame->sp;
}

static inline uint64_t gate_frame_asks_at(const struct gate_frame *frame)
{
	return gate_frame_returns_to(frame) - RDB_GATE_CALL;
}

static inline uint64_t gate_frame_sp(const struct gate_frame *frame)
{
	return frame->sp + sizeof(uint64_t);
}
