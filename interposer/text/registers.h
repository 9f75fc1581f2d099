/* The program's registers between a signal's context and the agent's wire format. */
#ifndef RDB_REGISTERS_H
#define RDB_REGISTERS_H
#include <ucontext.h>
#include "seek/agent.h"

#define EFLAGS_TF 0x100u
#define EFLAGS_RF 0x10000u

/* The trap and resume flags are ours or the processor's, never the program's: both ways hide them. */
void registers_get(const ucontext_t *uc, struct agent_gpr *gpr);
/* General registers and vector state; what SETREGS writes is what GETREGS reads. */
void registers_get_all(const ucontext_t *uc, struct agent_regs *regs);
/* 0 or -EINVAL. */
int registers_set_all(ucontext_t *uc, const struct agent_regs *regs);

static inline uint64_t uc_pc(const ucontext_t *uc)
{
	return (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
}

/* Number of a register in an instruction (Intel SDM vol. 2, 2.1.5) -> index of gregs. */
extern const uint8_t registers_greg[16];

#endif
