/* The way of hot system calls into the lower half and back (hot_sites.h), by a jump: nothing of the upper
 * half's stack is touched, and everything but what the call answers is as after a system call: rcx is its
 * return address, r11 the flags, and all others are kept (psABI A.2.1).
 *
 * In: rcx, the address of the site's syscall instruction.
 */
#include "arch/x86_64/crossing/context_gate.inc"

	FUNCTION hot_gate
	leaq	2(%rcx), %rcx
	CONTEXT_SAVE %r11
	movq	%rax, RAX_(%rsp)
	movq	%rcx, RIP_(%rsp)
	movq	%rbp, R11_(%rsp)
	CONTEXT_CALL hot_syscall
	.size hot_gate, . - hot_gate

	.section .note.GNU-stack,"",@progbits
