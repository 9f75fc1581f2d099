/* The way of patched rdtsc into the lower half and back (tsc_sites.h): everything is kept but rax and rdx, which are
 * the answer.  No thread pointer and no vector state is touched (tsc_fast.c).
 *
 * In: rdx, where the stub goes on; 22 bytes before it is the trap of the general way.
 */
	/* struct gate_state, at the start of the thread that the GS base points to */
#define LOWER_SP  %gs:0
#define GO_ON     %gs:40
#define TAIL 22

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
	leaq	-TAIL(%rdx), %rdx
	movq	%rdx, GO_ON
	popfq
	popq	%rsp
	jmp	*GO_ON
	.size tsc_gate, . - tsc_gate

	.section .note.GNU-stack,"",@progbits
