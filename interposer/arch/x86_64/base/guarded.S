/* arch/guarded.h: copies and calls that a fault may end. */

/* The processor counts down as it goes: what is left in rcx was not copied. */
	.text
	.globl guarded_copy
	.hidden guarded_copy
	.type guarded_copy, @function
guarded_copy:
	movq	%rdx, %rcx
	.globl guarded_copy_at
	.hidden guarded_copy_at
guarded_copy_at:
	rep	movsb
	.globl guarded_copy_out
	.hidden guarded_copy_out
guarded_copy_out:
	movq	%rdx, %rax
	subq	%rcx, %rax
	ret
	.size guarded_copy, . - guarded_copy

/* bool guarded_call_from(void (*fn)(void *), void *arg, uint64_t *sp): what has to be put back if fn does not return
 * lies where *sp points. */
	.text
	.globl guarded_call_from
	.hidden guarded_call_from
	.type guarded_call_from, @function
guarded_call_from:
	pushq	%rbp
	pushq	%rbx
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	pushq	%rdx
	movq	%rsp, (%rdx)
	movq	%rdi, %rax
	movq	%rsi, %rdi
	call	*%rax
	movl	$1, %eax
	.globl guarded_call_out
	.hidden guarded_call_out
guarded_call_out:
	popq	%rdx
	movq	$0, (%rdx)
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbx
	popq	%rbp
	ret
	.size guarded_call_from, . - guarded_call_from

	.section .note.GNU-stack,"",@progbits
