#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>
#include "arch/x86_64/base/xstate.h"

#define UC_REG(uc, r) (*(uint64_t *)&(uc)->uc_mcontext.gregs[REG_##r])
#define UC_PC(uc) UC_REG(uc, RIP)
#define UC_SP(uc) UC_REG(uc, RSP)
#define UC_CALL(uc) UC_REG(uc, RAX)
#define UC_RESULT(uc) UC_REG(uc, RAX)
#define EFLAGS_TF 0x100ul
#define EFLAGS_RF 0x10000ul
#define EFLAGS_AC 0x40000

#define UC_FLAGS(uc) UC_REG(uc, EFL)

/* OF DF SF ZF PF CF; AF, which compiled code leaves undefined; a bit that is always set */
enum { FLAGS_SEEN = 0xcc5, FLAGS_UNSURE = 0x10, FLAGS_SPARE = 2 };
/* xmm0-15; x87, SSE and AVX as XSAVE has them (Intel SDM vol. 1, 13.4) */
enum { VECTORS = 16, VECTORS_BYTES = 256, VECTOR_STATE = 832 };

enum { GENERAL_REGISTERS = 16, STACK_POINTER = 4, SYSCALL_BYTES = 2 };
enum { BREAKPOINT = 0xcc /* int3 */, BREAKPOINT_PASSED = 1 };

/* asm/trap_pf.h: bits of a page fault's error code */
enum { FAULT_WRITE = 2, FAULT_FETCH = 16 };

/* Number of a register in an instruction (Intel SDM vol. 2, 2.1.5) -> index of gregs. */
extern const uint8_t registers_greg[GENERAL_REGISTERS];

static inline void uc_arguments(const ucontext_t *uc, uint64_t args[6])
{
	args[0] = UC_REG(uc, RDI);
	args[1] = UC_REG(uc, RSI);
	args[2] = UC_REG(uc, RDX);
	args[3] = UC_REG(uc, R10);
	args[4] = UC_REG(uc, R8);
	args[5] = UC_REG(uc, R9);
}

static inline uint64_t *uc_general(const ucontext_t *uc, unsigned n)
{
	return (uint64_t *)(uintptr_t)&uc->uc_mcontext.gregs[registers_greg[n]];
}

static inline const void *uc_vectors(const ucontext_t *uc)
{
	const char *fp = (const char *)uc->uc_mcontext.fpregs;
	return fp ? fp + XMM_AT : NULL;
}

static inline uint64_t uc_vector_low(const ucontext_t *uc, unsigned n)
{
	uint64_t v = 0;
	if (uc->uc_mcontext.fpregs)
		memcpy(&v, (const char *)uc->uc_mcontext.fpregs + XMM_AT + 16 * (size_t)n, 8);
	return v;
}

static inline const void *uc_vector_state(const ucontext_t *uc)
{
	return uc->uc_mcontext.fpregs;
}

static inline void uc_step(ucontext_t *uc, bool on)
{
	UC_REG(uc, EFL) = (UC_REG(uc, EFL) & ~(EFLAGS_TF | EFLAGS_RF)) | (on ? EFLAGS_TF : 0);
}

/* Intel SDM vol. 3, 6.15, "Alignment Check Exception"; below the red zone (ABI, 3.2.2) */
static inline void alignment_checks_off(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andl %0, (%%rsp); popfq; lea 128(%%rsp), %%rsp"
			 :
			 : "i"(~EFLAGS_AC)
			 : "memory", "cc");
}

static inline bool uc_steps(const ucontext_t *uc)
{
	return UC_REG(uc, EFL) & EFLAGS_TF;
}

static inline bool uc_fault_wrote(const ucontext_t *uc)
{
	return UC_REG(uc, ERR) & FAULT_WRITE;
}

static inline bool uc_fault_fetched(const ucontext_t *uc)
{
	return UC_REG(uc, ERR) & FAULT_FETCH;
}

static inline void uc_no_fault(ucontext_t *uc)
{
	UC_REG(uc, TRAPNO) = UC_REG(uc, ERR) = 0;
}

/* What a context without vector state (uc_vectors) has of it. */
static inline void uc_floats(ucontext_t *uc, uint32_t mxcsr, uint16_t control, uint16_t status)
{
	uc->__fpregs_mem.mxcsr = mxcsr;
	uc->__fpregs_mem.cwd = control;
	uc->__fpregs_mem.swd = status;
}

/* Into an XSAVE area of zeros. */
static inline void uc_floats_put(const ucontext_t *uc, uint8_t *xsave)
{
	const uint64_t x87_sse = 3;
	memcpy(xsave, &uc->__fpregs_mem, sizeof(uc->__fpregs_mem));
	memcpy(xsave + LEGACY, &x87_sse, sizeof(x87_sse)); /* XSTATE_BV */
}

static inline void uc_begin(ucontext_t *uc)
{
	UC_REG(uc, EFL) = 0x202;   /* IF, and the bit that is always set */
	UC_REG(uc, CSGSFS) = 0x33; /* 64-bit user code */
	uc_floats(uc, 0x1f80, 0x37f, 0);
}

static inline void uc_share(ucontext_t *to, const ucontext_t *from)
{
	memcpy(to->uc_mcontext.gregs, from->uc_mcontext.gregs, sizeof(to->uc_mcontext.gregs));
	to->uc_mcontext.fpregs = from->uc_mcontext.fpregs;
}
