#include "arch/gate_frame.h"
#include <cpuid.h>
#include <stdbool.h>
#include "arch/registers.h"

/* Sets the registers that a hypercall preserves, and the stack pointer after the return (gate.S). */
static void kept(ucontext_t *uc, const struct gate_frame *frame)
{
	UC_SP(uc) = gate_frame_sp(frame);
	UC_REG(uc, RBP) = frame->rbp;
	UC_REG(uc, RBX) = frame->rbx;
	UC_REG(uc, R12) = frame->r12;
	UC_REG(uc, R13) = frame->r13;
	UC_REG(uc, R14) = frame->r14;
	UC_REG(uc, R15) = frame->r15;
}

static void begin(ucontext_t *uc, const struct gate_frame *frame)
{
	const struct gate_floats *floats = (const void *)((const char *)frame - GATE_FLOATS);
	uc_begin(uc);
	uc_floats(uc, floats->mxcsr, floats->control, floats->status);
}

void gate_frame_before(ucontext_t *uc, const struct gate_frame *frame)
{
	begin(uc, frame);
	kept(uc, frame);
	UC_PC(uc) = gate_frame_asks_at(frame);
	/* registers of the call itself (gate_call.h); the others are lost */
	UC_REG(uc, RAX) = RDB_GATE;
	UC_REG(uc, RDI) = frame->fn;
	UC_REG(uc, RSI) = frame->nargs;
	UC_REG(uc, RDX) = frame->args;
}

void gate_frame_behind(ucontext_t *uc, const struct gate_frame *frame, int64_t result)
{
	kept(uc, frame);
	UC_FLAGS(uc) = 0x246;
	UC_RESULT(uc) = (uint64_t)result;
	UC_PC(uc) = gate_frame_returns_to(frame);
}

void gate_frame_behind_upcall(ucontext_t *uc, const struct gate_frame *frame, uint64_t result)
{
	begin(uc, frame);
	UC_PC(uc) = RDB_GATE_CODE + GATE_CODE_UPCALL_RETURN;
	UC_SP(uc) = (frame->sp - RDB_UPCALL_ROOM) & ~15ul;
	UC_REG(uc, RBP) = frame->rbp;
	UC_RESULT(uc) = result;
}

/* Are opmask, ZMM_Hi256 and Hi16_ZMM available and enabled by the kernel (XCR0)? */
static bool has_avx512(void)
{
	static int there; /* 1: yes, -1: no; cached: a CPUID in a virtual machine costs microseconds */
	unsigned a, b, c, d;
	uint32_t low = 0, high;
	if (there)
		return there > 0;
	if (__get_cpuid_count(0xd, 0, &a, &b, &c, &d) && (a & 0xe0) == 0xe0)
		__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	there = (low & 0xe0) == 0xe0 ? 1 : -1;
	return there > 0;
}

/* Intel SDM vol. 1, 13.6: XGETBV with ECX = 1 returns XINUSE. */
static bool tells_in_use(void)
{
	static int there; /* as above */
	unsigned a, b, c, d;
	if (!there)
		there = __get_cpuid_count(0xd, 1, &a, &b, &c, &d) && a & 4 ? 1 : -1;
	return there > 0;
}

void gate_state_begin(struct gate_state *state, uint64_t lower_sp)
{
	*state = (struct gate_state){.lower_sp = lower_sp, .avx512 = has_avx512(), .in_use = tells_in_use()};
}
