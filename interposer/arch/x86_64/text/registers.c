#include "text/registers.h"
#include <errno.h>
#include <string.h>
#include "arch/x86_64/base/xstate.h"

const struct text_thread *text_thread;

/* rax..r15 and rip, in the order of struct agent_gpr */
static const uint8_t gpr_greg[17] = {
	REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
	REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
};

void registers_get(const ucontext_t *uc, struct agent_gpr *gpr)
{
	const greg_t *g = uc->uc_mcontext.gregs;
	uint64_t *to = &gpr->rax;

	for (unsigned i = 0; i < 17; i++)
		to[i] = (uint64_t)g[gpr_greg[i]];
	gpr->eflags = (uint64_t)g[REG_EFL] & ~(uint64_t)(EFLAGS_TF | EFLAGS_RF);
	gpr->cs = 0x33; /* 64-bit user code and data: Linux gives no other to a 64-bit program */
	gpr->ss = 0x2b;
	gpr->ds = gpr->es = gpr->fs = gpr->gs = 0;
	gpr->fs_base = text_thread->tls();
	gpr->gs_base = 0;
	gpr->orig_rax = UINT64_MAX; /* not in a system call: GDB must not restart one */
	gpr->thread = text_thread->number();
}

bool registers_number(const struct agent_gpr *gpr, uint64_t number, uint64_t *value)
{
	if (number <= 23)
		*value = (&gpr->rax)[number];
	else if (number == 57)
		*value = gpr->orig_rax;
	else if (number == 58)
		*value = gpr->fs_base;
	else if (number == 59)
		*value = gpr->gs_base;
	else
		return false;
	return true;
}

void registers_belong(struct agent_gpr *gpr, uint64_t tls, uint64_t thread)
{
	gpr->fs_base = tls;
	gpr->thread = thread;
}

/* Bytes of the XSAVE area in the signal frame. */
static uint32_t xsave_len(const struct _libc_fpstate *fp)
{
	const uint32_t len = xstate_words(fp).xstate_size;

	return len < sizeof(((struct agent_regs *)0)->xsave) ? len : sizeof(((struct agent_regs *)0)->xsave);
}

void registers_get_all(const ucontext_t *uc, struct agent_regs *regs)
{
	const struct _libc_fpstate *fp = uc->uc_mcontext.fpregs;

	memset(regs, 0, sizeof(*regs));
	registers_get(uc, &regs->gpr);
	if (!fp) {
		uc_floats_put(uc, regs->xsave);
		return;
	}
	regs->xsave_len = xsave_len(fp);
	memcpy(regs->xsave, fp, regs->xsave_len);
	memset(regs->xsave + SW_BYTES, 0, SW_LEN); /* fields for the kernel only */
}

int registers_set_all(ucontext_t *uc, const struct agent_regs *regs)
{
	greg_t *g = uc->uc_mcontext.gregs;
	char *fp = (char *)uc->uc_mcontext.fpregs;
	const uint64_t *from = &regs->gpr.rax;
	const uint64_t user_flags = 0x240cd5; /* ID AC OF DF SF ZF AF PF CF */
	uint32_t mxcsr_mask;

	if (regs->xsave_len && (!fp || regs->xsave_len != xsave_len(uc->uc_mcontext.fpregs)))
		return -EINVAL;
	for (unsigned i = 0; i < 17; i++)
		g[gpr_greg[i]] = (greg_t)from[i];
	g[REG_EFL] = (greg_t)(((uint64_t)g[REG_EFL] & ~user_flags) |
			      (regs->gpr.eflags & user_flags & ~(uint64_t)EFLAGS_TF));
	if (regs->gpr.fs_base != text_thread->tls())
		text_thread->set_tls(regs->gpr.fs_base);
	if (!regs->xsave_len)
		return 0;
	memcpy(&mxcsr_mask, fp + 28, 4);
	memcpy(fp, regs->xsave, SW_BYTES);
	/* sigreturn refuses reserved bits of mxcsr */
	*(uint32_t *)(fp + 24) &= mxcsr_mask ? mxcsr_mask : 0xffbf;
	memcpy(fp + 28, &mxcsr_mask, 4);
	if (regs->xsave_len > 512)
		memcpy(fp + 512, regs->xsave + 512, regs->xsave_len - 512);
	return 0;
}
