/* Crossing between the halves.  System V ABI AMD64 psABI 3.2 (calling sequence); FSGSBASE
 * instructions; Intel SDM vol. 2.
 *
 * The upper half's stack is not written to while the lower half works: its frames would differ from run
 * to run and so would the memory below the stack pointer.
 */
#include "arch/x86_64/crossing/context_gate.inc"

#define CLOCK 0x00000001	/* RDB_FN(RDB_NS_CORE, RDB_CORE_CLOCK) */
#define VECTORS 0xe7		/* x87, SSE, AVX, AVX-512: the state that a system call would keep */
#define VECTORS_ROOM 4096

	/* The program's floating-point environment is kept below the gate frame: MXCSR, x87 status, x87 control (struct
	 * gate_floats).  A function keeps the control bits and leaves the x87 registers empty: psABI 3.2.3.  What else it
	 * leaves in x87 would differ in a replay: there the library below does not compute, and other threads of the program
	 * run on the same carrier.  So x87 returns to its initial state with the program's control and status words. */
#define FLOATS 72
#define STATUS 4
#define CONTROL 6
#define INITIAL_WORDS 0x37f0000	/* of both, as FNINIT sets them */
#define ENVIRONMENT 8		/* room for FNSTENV, whose second double word is the status word */

	.macro FLOATS_KEEP at, base
	stmxcsr	\at(\base)
	fnstsw	STATUS+\at(\base)
	fnstcw	CONTROL+\at(\base)
	.endm

	/* of x87 alone; at is a register other than eax, ecx, edx.  XINUSE: Intel SDM vol. 1, 13.6 */
	.macro X87_BACK at
	cmpl	$INITIAL_WORDS, STATUS(\at)
	jne	.Lx87_used\@
	cmpq	$0, IN_USE_TOLD
	jz	.Lx87_used\@
	movl	$1, %ecx
	xgetbv
	testb	$1, %al
	jz	.Lx87_done\@
.Lx87_used\@:
	movl	$1, %eax
	xorl	%edx, %edx
	xrstor64 x87_initial(%rip)
	cmpl	$INITIAL_WORDS, STATUS(\at)
	je	.Lx87_done\@
	fldcw	CONTROL(\at)
	movzwl	STATUS(\at), %eax
	testl	%eax, %eax
	jz	.Lx87_done\@
	fnstenv	ENVIRONMENT(\at)
	movw	%ax, ENVIRONMENT+4(\at)
	fldenv	ENVIRONMENT(\at)
.Lx87_done\@:
	.endm

/* int64_t gate_entry(uint32_t fn, uint32_t nargs, const uint64_t *args) */
	FUNCTION gate_entry
	cmpl	$CLOCK, %edi
	je	gate_clock
gate_general:
	movq	%rsp, %rax
	movq	LOWER_SP, %rsp
	pushq	%rdx
	pushq	%rsi
	pushq	%rdi
	pushq	%rax
	PUSH_KEPT
	rdfsbase %rax
	pushq	%rax
	movq	LOWER_FS, %rax
	wrfsbase %rax
	movq	%rsp, %rcx
	movq	LOWER_SP, %rbx
	pushq	%rbx
	subq	$64, %rsp
	FLOATS_KEEP 0, %rsp
	xorl	%r12d, %r12d
	cmpl	$CLOCK, %edi
	jne	3f
	/* reading a clock keeps the vector state, whichever way it takes: XSAVE, Intel SDM vol. 1, 13.7 */
	movq	%rsp, %r13
	movq	%rdx, %r14
	subq	$VECTORS_ROOM, %rsp
	andq	$-64, %rsp
	movq	%rsp, %r12
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	movq	$0, 512+8*\n(%r12)
	.endr
	movl	$VECTORS, %eax
	xorl	%edx, %edx
	xsave64	(%r12)
	movq	%r14, %rdx
3:
	movq	%rsp, LOWER_SP
	cld
	call	boundary_hypercall
	testq	%r12, %r12
	jz	4f
	movq	%rax, %r14
	movl	$VECTORS, %eax
	xorl	%edx, %edx
	xrstor64 (%r12)
	movq	%r14, %rax
	movq	%r13, %rsp
4:
	ldmxcsr	(%rsp)			/* with the exception flags as they were */
	movq	%rax, %r8
	testq	%r12, %r12
	jnz	1f
	cmpq	$0, VECTORS_STAY
	jne	1f
	X87_BACK %rsp

	/* vector state as at a fresh start, or a later spill of dead registers would show ours */
	vzeroall
	cmpq	$0, AVX512
	jz	1f
	/* what vzeroall leaves of AVX-512; XRSTOR of the init state costs 40 ns, XGETBV 15 */
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	kxorw	%k\n, %k\n, %k\n
	.endr
	.irp	n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	vpxord	%zmm\n, %zmm\n, %zmm\n
	.endr
1:
	addq	$FLOATS, %rsp
	movq	%rbx, LOWER_SP
	popq	%rax
	wrfsbase %rax
	POP_KEPT
	movq	%r8, %rax
	movq	TRAP, %rcx
	CLEAR	edx, esi, edi, r9d, r10d, r11d, r8d
	testq	%rcx, %rcx
	jnz	2f
	xorl	%ecx, %ecx
	popq	%rsp
	ret
2:
	/* trap flag on: single-steps through what is left of us; the handler waits for an upper pc */
	movq	$0, TRAP
	pushq	$0x346		/* what xorl leaves: IF PF ZF, and TF */
	popfq
	movl	$0, %ecx
	popq	%rsp
	ret

	/* The short way: no thread pointer, no vector state, no frame (clock_fast.c). */
gate_clock:
	movq	%rsp, %rax
	movq	LOWER_SP, %rsp
	pushq	%rax
	pushq	%rdx
	pushq	%rsi
	pushq	%rdi
	movq	(%rdx), %rdi
	cld
	call	clock_fast
	movabsq	$0x8000000000000001, %rcx	/* CLOCK_ON_CONTEXT; CLOCK_NOT_FAST is less */
	cmpq	%rcx, %rax
	jle	5f
	movq	24(%rsp), %rsp
	CLEAR	edx, esi, edi, r8d, r9d, r10d, r11d, ecx
	ret
5:
	popq	%rdi
	popq	%rsi
	popq	%rdx
	je	6f
	popq	%rsp
	jmp	gate_general
6:
	popq	%rsp
	CONTEXT_SAVE %rax
	movabsq	$RDB_GATE, %rcx
	movq	%rcx, RAX_(%rsp)
	movq	%rcx, RCX_(%rsp)
	leaq	gate_general(%rip), %rcx
	movq	%rcx, RIP_(%rsp)
	CONTEXT_CALL boundary_clock
	.size gate_entry, . - gate_entry

/* uint64_t gate_upcall(const struct gate_frame *frame, uint64_t fn, const uint64_t args[6]) */
	FUNCTION gate_upcall
	PUSH_KEPT
	pushq	%rdi
	pushq	UPCALL_SP
	pushq	LOWER_SP
	movq	%rsp, UPCALL_SP
	movq	%rsp, %rax
	andq	$-64, %rax
	movq	%rax, LOWER_SP	/* hypercalls of the upcalled function go below us */
	movq	%rdx, %r10
	leaq	-FLOATS(%rdi), %rbx
	ldmxcsr	(%rbx)
	X87_BACK %rbx
	movq	%rsi, %rax
	movq	56(%rdi), %rbx		/* the upper rsp at the gate */
	movq	32+8(%rdi), %rbp	/* its frame pointer: backtraces reach the stub */
	subq	$RDB_UPCALL_ROOM, %rbx
	andq	$-16, %rbx
	movq	(%rdi), %r9
	wrfsbase %r9
	movq	0(%r10), %rdi
	movq	8(%r10), %rsi
	movq	16(%r10), %rdx
	movq	24(%r10), %rcx
	movq	32(%r10), %r8
	movq	40(%r10), %r9
	vzeroall
	CLEAR	r11d, r12d, r13d, r14d, r15d
	movabsq	$(RDB_GATE_CODE + GATE_CODE_UPCALL_RETURN), %r10
	movq	%r10, -8(%rbx)
	cmpq	$0, TRAP
	jne	3f
	leaq	-8(%rbx), %rsp
	movq	%rax, %r10
	xorl	%ebx, %ebx
	movl	$0, %eax
	jmp	*%r10
3:
	movq	$0, TRAP
	pushq	$0x346
	popfq
	leaq	-8(%rbx), %rsp
	movq	%rax, %r10
	movl	$0, %ebx
	movl	$0, %eax
	jmp	*%r10

	.globl gate_upcall_return
	.hidden gate_upcall_return
	.balign 16
gate_upcall_return:
	movq	UPCALL_SP, %rsp
	movq	LOWER_FS, %rcx
	wrfsbase %rcx
	cld
	popq	LOWER_SP
	popq	UPCALL_SP
	popq	%rcx
	FLOATS_KEEP -FLOATS, %rcx
	POP_KEPT
	ret
	.size gate_upcall, . - gate_upcall

/* void gate_enter(uint64_t pc, uint64_t sp) */
	FUNCTION gate_enter
	movq	%rsi, %rsp
	movq	%rdi, %r11
	CLEAR	eax, ebx, ecx, edx, esi, edi, ebp, r8d, r9d, r10d, r12d, r13d, r14d, r15d
	wrfsbase %rax
	vzeroall
	movl	$1, %eax
	xrstor64 x87_initial(%rip)
	xorl	%eax, %eax
	ldmxcsr	mxcsr_initial(%rip)
	jmp	*%r11
	.size gate_enter, . - gate_enter

/* long interruptible_syscall(long nr, const uint64_t args[6], const volatile uint64_t *pending,
 *                            uint64_t mask) */
	.globl interruptible_begin, interruptible_call, interruptible_abort
	.hidden interruptible_begin, interruptible_call, interruptible_abort, halt_wanted
	FUNCTION interruptible_syscall
	movq	%rdi, %rax
	movq	%rdx, %r11
	notq	%rcx
	movq	0(%rsi), %rdi
	movq	16(%rsi), %rdx
	movq	24(%rsi), %r10
	movq	32(%rsi), %r8
	movq	40(%rsi), %r9
	movq	8(%rsi), %rsi
interruptible_begin:
	testq	%rcx, (%r11)
	jnz	interruptible_abort
	cmpl	$0, halt_wanted(%rip)
	jne	interruptible_halt
interruptible_call:
	syscall
	ret
interruptible_abort:
	movq	$-514, %rax		/* SIGNALS_UNMADE */
	ret
interruptible_halt:
	movq	$-513, %rax		/* SIGNALS_HALT */
	ret
	.size interruptible_syscall, . - interruptible_syscall

/* Copied to RDB_GATE_CODE: upper-half code, the same bytes in every run. */
/* void gate_carry(uint64_t *save_sp, uint64_t pc, uint64_t sp) */
	.globl gate_carry_end
	.hidden gate_carry_end
	FUNCTION gate_carry
	PUSH_KEPT
	movq	%rsp, (%rdi)
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	jmp	gate_enter
gate_carry_end:
	movq	LOWER_FS, %rax
	wrfsbase %rax
	cld
	POP_KEPT
	ret
	.size gate_carry, . - gate_carry

/* void coroutine_switch(uint64_t *save_sp, uint64_t load_sp): psABI 3.2.1, callee-saved registers */
	FUNCTION coroutine_switch
	PUSH_KEPT
	movq	%rsp, (%rdi)
	movq	%rsi, %rsp
	POP_KEPT
	ret
	.size coroutine_switch, . - coroutine_switch

	.section .rodata
	.balign 64
x87_initial:			/* an XSAVE area whose header marks each part as initial */
	.zero	576
mxcsr_initial:
	.long	0x1f80
	.globl gate_code_start, gate_code_end
	.hidden gate_code_start, gate_code_end
	.balign 16
gate_code_start:
	movl	$0x52444230, %eax	/* GATE_START_CALL: the program's entry point is reached */
	syscall
	ud2
	.balign 16
	/* an upcalled function returns here; gate->upcall_return is at offset 24 of the gate page.  One instruction,
	 * before which a rank stands whose recording ends here; the displacement is from its end */
	jmp	*(RDB_GATE + 24 - (RDB_GATE_CODE + GATE_CODE_UPCALL_RETURN + 6))(%rip)
	.balign 16
	/* gate->syscall where system calls come by SIGSYS: to the instruction itself (hot_sites.h) */
	jmp	*%rcx
gate_code_end:

	.section .note.GNU-stack,"",@progbits
