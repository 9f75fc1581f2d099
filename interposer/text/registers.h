/* The program's registers between a signal's context and the agent's wire format. */
#ifndef RDB_REGISTERS_H
#define RDB_REGISTERS_H
#include <stdbool.h>
#include <ucontext.h>
#include "base/context.h"
#include "seek/agent.h"

/* The trap and resume flags are ours or the processor's, never the program's: both ways hide them. */
void registers_get(const ucontext_t *uc, struct agent_gpr *gpr);
/* General registers and vector state; what SETREGS writes is what GETREGS reads. */
void registers_get_all(const ucontext_t *uc, struct agent_regs *regs);
/* 0 or -EINVAL. */
int registers_set_all(ucontext_t *uc, const struct agent_regs *regs);

/* The running thread, and the gate: they are above.  main() says who they are. */
struct text_thread {
	uint64_t (*fs_base)(void); /* upper; GS has none */
	void (*set_fs_base)(uint64_t base);
	uint64_t (*number)(void);
	bool (*in_gate)(uint64_t pc); /* a first instruction of the lower half that is reached from upper code */
};
extern const struct text_thread *text_thread;

static inline uint64_t uc_pc(const ucontext_t *uc)
{
	return (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
}

/* Number of a register in an instruction (Intel SDM vol. 2, 2.1.5) -> index of gregs. */
extern const uint8_t registers_greg[16];

#endif
