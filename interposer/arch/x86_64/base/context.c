#include "arch/context.h"
#include <string.h>
#include "arch/registers.h"
#include "arch/x86_64/base/xstate.h"

void context_save(struct context *c, const ucontext_t *uc)
{
	memset(c, 0, sizeof(*c));
	memcpy(c->gregs, uc->uc_mcontext.gregs, sizeof(c->gregs));
	c->gregs[REG_EFL] &= ~EFLAGS_TF; /* the trap flag is ours, never the program's */
	if (!uc->uc_mcontext.fpregs) {   /* stopped in a hypercall, which clears the vector state */
		c->xsave_len = sizeof(c->xsave);
		uc_floats_put(uc, c->xsave);
		return;
	}
	c->xsave_len = (uint32_t)xstate_len(uc->uc_mcontext.fpregs);
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

void context_look(ucontext_t *uc, const struct context *c)
{
	memcpy(uc->uc_mcontext.gregs, c->gregs, sizeof(uc->uc_mcontext.gregs));
	memcpy(&uc->__fpregs_mem, c->xsave, sizeof(uc->__fpregs_mem));
}

void context_own_vectors(ucontext_t *uc, struct context *vectors, const ucontext_t *from)
{
	enum { SSE = 3, SSE_AND_AVX = 7 };
	context_save(vectors, from);
	if (!from->uc_mcontext.fpregs) {
		const uint32_t sw[] = {XSTATE_MAGIC1, 0}, size = VECTOR_STATE;
		const uint64_t features = __builtin_cpu_supports("avx") ? SSE_AND_AVX : SSE;
		memcpy(vectors->xsave + SW_BYTES, sw, sizeof(sw));
		memcpy(vectors->xsave + SW_BYTES + 8, &features, sizeof(features));
		memcpy(vectors->xsave + SW_BYTES + 16, &size, sizeof(size));
	}
	uc->uc_mcontext.fpregs = (void *)vectors->xsave;
}
