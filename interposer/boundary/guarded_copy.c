#include "boundary/guarded_copy.h"
#include <stdint.h>

/* The processor counts down as it goes: what is left in rcx was not copied. */
__asm__("	.text\n"
	"	.globl guarded_copy\n"
	"	.hidden guarded_copy\n"
	"	.type guarded_copy, @function\n"
	"guarded_copy:\n"
	"	movq %rdx, %rcx\n"
	"guarded_copy_at:\n"
	"	rep movsb\n"
	"guarded_copy_out:\n"
	"	movq %rdx, %rax\n"
	"	subq %rcx, %rax\n"
	"	ret\n"
	"	.size guarded_copy, . - guarded_copy\n");

extern const char guarded_copy_at[] __attribute__((visibility("hidden")));
extern const char guarded_copy_out[] __attribute__((visibility("hidden")));

bool guarded_copy_faulted(ucontext_t *uc)
{
	greg_t *pc = &uc->uc_mcontext.gregs[REG_RIP];
	if ((uint64_t)*pc != (uint64_t)guarded_copy_at)
		return false;
	*pc = (greg_t)guarded_copy_out;
	return true;
}
