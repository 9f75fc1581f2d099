/* The way of a spin into the lower half and back (text/spin_sites.h): what a signal would be, without the signal.
 *
 * In: rcx, the data of the site, which has the program's rax and rcx.
 */
#include "crossing/context_gate.inc"

	.text
	.globl spin_gate
	.hidden spin_gate
	.type spin_gate, @function
	.balign 16
spin_gate:
	movq	%rsp, %rax
	movq	LOWER_SP, %rsp
	pushfq
	CONTEXT_SAVE %rax
	movq	%rcx, RCX_(%rsp)
	movq	%r11, R11_(%rsp)
	CONTEXT_CALL spins_arrived
	.size spin_gate, . - spin_gate

	.section .note.GNU-stack,"",@progbits
