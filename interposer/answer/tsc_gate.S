/* The way of patched rdtsc into the lower half and back (tsc_sites.h): everything is kept but rax and rdx, which are
 * the answer.  The short way touches no thread pointer and no vector state (tsc_fast.c); the general one is what a
 * trap would be, without the trap.
 *
 * In: rdx, where the stub goes on.
 */
#include "crossing/context_gate.inc"

	.text
	.globl tsc_gate
	.hidden tsc_gate
	.type tsc_gate, @function
	.balign 16
tsc_gate:
	movq	%rsp, %rax
	movq	LOWER_SP, %rsp
	pushq	%rax
	pushfq
	pushq	%rdx
	pushq	%rcx
	pushq	%rsi
	pushq	%rdi
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
	cld
	call	tsc_fast
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rdi
	popq	%rsi
	popq	%rcx
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
	movq	%rsp, %rax
	movq	LOWER_SP, %rsp
	pushfq
	CONTEXT_SAVE %rax
	movq	%rcx, RCX_(%rsp)
	movq	%r11, R11_(%rsp)
	movq	%rdx, RAX_(%rsp)
	movq	%rdx, RIP_(%rsp)
	CONTEXT_CALL tsc_general
	.size tsc_gate, . - tsc_gate

	.section .note.GNU-stack,"",@progbits
