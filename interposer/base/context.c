#include "base/context.h"
#include <string.h>
#include "base/xstate.h"

/* struct _fpx_sw_bytes at offset 464 of the FXSAVE area (asm/sigcontext.h) */
static uint32_t xsave_len(const ucontext_t *uc)
{
	const uint32_t *sw = (const uint32_t *)((const uint8_t *)uc->uc_mcontext.fpregs + 464);
	return sw[0] == 0x46505853 /* FP_XSTATE_MAGIC1 */ ? sw[1] : 512;
}

void context_save(struct context *c, const ucontext_t *uc)
{
	memset(c, 0, sizeof(*c));
	memcpy(c->gregs, uc->uc_mcontext.gregs, sizeof(c->gregs));
	c->gregs[REG_EFL] &= ~0x100ul; /* the trap flag is never the program's */
	if (!uc->uc_mcontext.fpregs) { /* parked in a hypercall, which clears them: as at the start of a program */
		c->xsave_len = sizeof(c->xsave);
		*(uint16_t *)c->xsave = 0x37f;         /* x87 control word */
		*(uint32_t *)(c->xsave + 24) = 0x1f80; /* MXCSR */
		return;
	}
	c->xsave_len = xsave_len(uc);
	if (c->xsave_len > sizeof(c->xsave))
		c->xsave_len = sizeof(c->xsave);
	memcpy(c->xsave, uc->uc_mcontext.fpregs, c->xsave_len);
}

void context_load(ucontext_t *uc, const struct context *c)
{
	memcpy(uc->uc_mcontext.gregs, c->gregs, 17 * sizeof(uint64_t)); /* R8 .. RIP */
	uc->uc_mcontext.gregs[REG_EFL] = (greg_t)c->gregs[REG_EFL];
	xstate_put(uc->uc_mcontext.fpregs, c->xsave);
}
