/* The way of patched rdtsc into the lower half and back (counter_sites.h): everything is kept but rax and rdx, which are
 * the answer.  The short way touches no thread pointer and no vector state (counter_fast.c); the general one is what a
 * trap would be, without the trap.
 *
 * In: rdx, where the stub goes on.
 */
#include "arch/x86_64/crossing/context_gate.inc"

	FUNCTION counter_gate
	movq	%rsp, %rax
	movq	LOWER_SP, %rsp
	pushq	%rax
	pushfq
	.irp	r, rdx, rcx, rsi, rdi, r8, r9, r10, r11
	pushq	%\r
	.endr
	cld
	call	counter_fast
	.irp	r, r11, r10, r9, r8, rdi, rsi, rcx
	popq	%\r
	.endr
	testq	%rdx, %rdx
	jz	1f
	popq	%rdx
	movq	%rdx, GO_ON
	movq	%rax, %rdx
	shrq	$32, %rdx
	movl	%eax, %eax
	popfq
	popq	%rsp
	jmp	*GO_ON
1:
	popq	%rdx
	popfq
	popq	%rsp
	CONTEXT_SAVE %rax
	movq	%rdx, RAX_(%rsp)
	movq	%rdx, RIP_(%rsp)
	CONTEXT_CALL counter_general
	.size counter_gate, . - counter_gate

	.section .note.GNU-stack,"",@progbits
