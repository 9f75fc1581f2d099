/* Converts the program's registers between a signal context and the agent's wire format. */
#pragma once
#include <stdbool.h>
#include <ucontext.h>
#include "arch/registers.h"
#include "interface/agent.h"

/* Hides the trap and resume flags, which are ours or the processor's, never the program's. */
void registers_get(const ucontext_t *uc, struct agent_gpr *gpr);
/* General registers and vector state: registers_get_all() reads what registers_set_all() writes. */
void registers_get_all(const ucontext_t *uc, struct agent_regs *regs);
/* 0 or -EINVAL. */
int registers_set_all(ucontext_t *uc, const struct agent_regs *regs);
/* A register by GDB's number.  False: no such register. */
bool registers_number(const struct agent_gpr *gpr, uint64_t number, uint64_t *value);
/* Makes them the registers of another thread, with this thread pointer. */
void registers_belong(struct agent_gpr *gpr, uint64_t tls, uint64_t thread);

/* The running thread, and the gate, which belong to higher layers. main() sets this table. */
struct text_thread {
	uint64_t (*tls)(void); /* thread pointer of the upper half */
	void (*set_tls)(uint64_t base);
	uint64_t (*number)(void);
	bool (*in_gate)(uint64_t pc); /* is it an entry point of the lower half for upper code? */
};
extern const struct text_thread *text_thread;
