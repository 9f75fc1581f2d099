#include "base/guarded_copy.h"
#include <stdint.h>
#include "task/thread.h"

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

/* bool guarded_call_from(void (*fn)(void *), void *arg, uint64_t *sp): what has to be put back if fn does not return
 * lies where *sp points. */
__asm__("	.text\n"
	"	.type guarded_call_from, @function\n"
	"guarded_call_from:\n"
	"	pushq %rbp\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	pushq %r13\n"
	"	pushq %r14\n"
	"	pushq %r15\n"
	"	pushq %rdx\n"
	"	movq %rsp, (%rdx)\n"
	"	movq %rdi, %rax\n"
	"	movq %rsi, %rdi\n"
	"	call *%rax\n"
	"	movl $1, %eax\n"
	"guarded_call_out:\n"
	"	popq %rdx\n"
	"	movq $0, (%rdx)\n"
	"	popq %r15\n"
	"	popq %r14\n"
	"	popq %r13\n"
	"	popq %r12\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	"	ret\n"
	"	.size guarded_call_from, . - guarded_call_from\n");

bool guarded_call_from(void (*fn)(void *arg), void *arg, uint64_t *sp) __attribute__((visibility("hidden")));
extern const char guarded_call_out[] __attribute__((visibility("hidden")));
extern const char guarded_copy_at[] __attribute__((visibility("hidden")));
extern const char guarded_copy_out[] __attribute__((visibility("hidden")));

bool guarded_copy_faulted(ucontext_t *uc)
{
	greg_t *pc = &uc->uc_mcontext.gregs[REG_RIP];
	struct thread *self = thread_self();
	if ((uint64_t)*pc == (uint64_t)guarded_copy_at) {
		*pc = (greg_t)guarded_copy_out;
		return true;
	}
	if (RDB_IS_UPPER(*pc) || !self || !self->guard_sp) /* a thread of a library's own is none of ours */
		return false;
	*pc = (greg_t)guarded_call_out;
	uc->uc_mcontext.gregs[REG_RSP] = (greg_t)self->guard_sp;
	uc->uc_mcontext.gregs[REG_RAX] = 0;
	return true;
}

bool guarded_call(void (*fn)(void *arg), void *arg)
{
	return guarded_call_from(fn, arg, &thread_self()->guard_sp);
}
