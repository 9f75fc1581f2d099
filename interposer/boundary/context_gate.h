/* A gate by which a program is left like by a signal, for hot_gate.S and tsc_gate.S: on a context like SIGSYS's, and
 * nothing of the upper half's stack is touched.
 *
 * CONTEXT_SAVE SP: the program's registers, of which SP (r11 or rax) holds its rsp, its flags lie on the lower stack;
 * afterwards rbx is the context, whose rax, rcx, r11 and rip the caller fills in.  CONTEXT_CALL FN: calls FN(context,
 * thread pointer) with the lower thread pointer, and goes on as the context says.
 */
#ifndef RDB_CONTEXT_GATE_H
#define RDB_CONTEXT_GATE_H
#include "boundary/layout.h"

/* struct gate_state, at the start of the thread that the GS base points to */
#define LOWER_SP  %gs:0
#define LOWER_FS  %gs:8
#define TRAP      %gs:16
#define GO_ON     %gs:40

#define UC_ROOM 1024		/* sizeof(ucontext_t) is 968 */
#define GREG(n) 40 + 8 * (n)	/* sys/ucontext.h: REG_R8 = 0 and so on */
#define R8_ GREG(0)
#define R9_ GREG(1)
#define R10_ GREG(2)
#define R11_ GREG(3)
#define R12_ GREG(4)
#define R13_ GREG(5)
#define R14_ GREG(6)
#define R15_ GREG(7)
#define RDI_ GREG(8)
#define RSI_ GREG(9)
#define RBP_ GREG(10)
#define RBX_ GREG(11)
#define RDX_ GREG(12)
#define RAX_ GREG(13)
#define RCX_ GREG(14)
#define RSP_ GREG(15)
#define RIP_ GREG(16)
#define EFL_ GREG(17)
#define FPREGS_ GREG(23)

#define XSAVE_ROOM 16384	/* with AMX 11008 */
#define STATE 0x2e7		/* x87, SSE, AVX, AVX-512, PKRU: XSAVE, Intel SDM vol. 1, 13.7 */

	.macro CONTEXT_SAVE sp
	subq	$UC_ROOM, %rsp
	movq	%r8, R8_(%rsp)
	movq	%r9, R9_(%rsp)
	movq	%r10, R10_(%rsp)
	movq	%r12, R12_(%rsp)
	movq	%r13, R13_(%rsp)
	movq	%r14, R14_(%rsp)
	movq	%r15, R15_(%rsp)
	movq	%rdi, RDI_(%rsp)
	movq	%rsi, RSI_(%rsp)
	movq	%rbp, RBP_(%rsp)
	movq	%rbx, RBX_(%rsp)
	movq	%rdx, RDX_(%rsp)
	movq	\sp, RSP_(%rsp)
	movq	UC_ROOM(%rsp), %rbp
	movq	%rbp, EFL_(%rsp)
	movq	%rsp, %rbx
	.endm

	.macro CONTEXT_CALL fn
	movq	LOWER_SP, %r14
	rdfsbase %rsi
	movq	LOWER_FS, %rax
	wrfsbase %rax
	subq	$XSAVE_ROOM, %rsp
	andq	$-64, %rsp
	movq	%rsp, %r12
	movq	%r12, FPREGS_(%rbx)
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	movq	$0, 512+8*\n(%r12)
	.endr
	movl	$STATE, %eax
	xorl	%edx, %edx
	xsave64	(%r12)
	movq	%rsp, LOWER_SP
	cld
	movq	%rbx, %rdi
	call	\fn
	movq	%rax, %r13
	movl	$STATE, %eax
	xorl	%edx, %edx
	xrstor64 (%r12)
	movq	%r14, LOWER_SP
	wrfsbase %r13
	movq	%rbx, %rsp
	/* a jump that needs no register and no stack */
	movq	RIP_(%rsp), %rax
	movq	%rax, GO_ON
	movq	R8_(%rsp), %r8
	movq	R9_(%rsp), %r9
	movq	R10_(%rsp), %r10
	movq	R11_(%rsp), %r11
	movq	R12_(%rsp), %r12
	movq	R13_(%rsp), %r13
	movq	R14_(%rsp), %r14
	movq	R15_(%rsp), %r15
	movq	RDI_(%rsp), %rdi
	movq	RSI_(%rsp), %rsi
	movq	RBP_(%rsp), %rbp
	movq	RBX_(%rsp), %rbx
	movq	RDX_(%rsp), %rdx
	movq	RAX_(%rsp), %rax
	movq	RCX_(%rsp), %rcx
	cmpq	$0, TRAP
	jne	2f
1:
	pushq	EFL_(%rsp)
	popfq
	movq	RSP_(%rsp), %rsp
	jmp	*GO_ON
2:
	/* trap flag on: single-steps through what is left of us; the handler waits for an upper pc */
	movq	$0, TRAP
	orq	$0x100, EFL_(%rsp)
	jmp	1b
	.endm

#endif
