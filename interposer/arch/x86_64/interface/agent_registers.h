#pragma once
#include <stdint.h>

/* User-visible registers in the order of GDB's amd64-linux 'g' packet core + segments. */
struct agent_gpr {
	uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15;
	uint64_t rip, eflags, cs, ss, ds, es, fs, gs, fs_base, gs_base, orig_rax;
	uint64_t thread; /* number of the thread */
};

static inline uint64_t agent_gpr_pc(const struct agent_gpr *gpr)
{
	return gpr->rip;
}

struct agent_regs {
	struct agent_gpr gpr;
	uint32_t xsave_len; /* bytes used below */
	uint32_t reserved;
	uint8_t xsave[4096]; /* standard-format XSAVE area (Intel SDM vol. 1 ch. 13) */
};
