/* The way of a spin into the lower half and back (text/spin_sites.h): what a signal would be, without the signal.
 *
 * In: rcx, the data of the site, which has the program's rax and rcx.
 */
#include "arch/x86_64/crossing/context_gate.inc"

	FUNCTION spin_gate
	CONTEXT_SAVE %rax
	CONTEXT_CALL spins_arrived
	.size spin_gate, . - spin_gate

	.section .note.GNU-stack,"",@progbits
