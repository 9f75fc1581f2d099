/* The program's vDSO: the shared object that AT_SYSINFO_EHDR names, in which libcs find a clock_gettime that
 * is not a system call (vdso(7)).  Its functions ask the gate (RDB_CORE_CLOCK), which costs a tenth of the
 * trap that a system call is.  These bytes are copied to RDB_VDSO: upper-half code, the same in every run
 * and on every kernel.
 *
 * No function moves the stack pointer: what it needs lies in the red zone, below the return address that the
 * call of the gate puts there.  So its frame is known everywhere (.eh_frame below), and a debugger without
 * symbols for it guesses right.
 */
#include "interface/layout.h"
#define CLOCK 0x00000001 /* RDB_FN(RDB_NS_CORE, RDB_CORE_CLOCK) */
#define OFFSET(label) label - vdso_start

#ifndef VDSO_CODE_BEGINS /* else: its symbols for debuggers (own_code.S) */
#define VDSO_CODE_BEGINS
#define VDSO_CODE_ENDS
	.section .rodata
	.globl vdso_start, vdso_end
	.hidden vdso_start, vdso_end
#endif
	.balign 16
vdso_start:
	/* Elf64_Ehdr */
	.byte	0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0
	.short	3, 62			/* ET_DYN, EM_X86_64 */
	.long	1
	.quad	0, OFFSET(headers), 0	/* entry, program headers, no sections */
	.long	0
	.short	64, 56, 3, 64, 0, 0
headers:
	.long	1, 5			/* PT_LOAD, R E */
	.quad	0, 0, 0, OFFSET(vdso_end), OFFSET(vdso_end), RDB_PAGE_BYTES
	.long	2, 4			/* PT_DYNAMIC, R */
	.quad	OFFSET(dynamic), OFFSET(dynamic), OFFSET(dynamic), dynamic_end - dynamic, dynamic_end - dynamic, 8
	.long	0x6474e550, 4		/* PT_GNU_EH_FRAME, R */
	.quad	OFFSET(frames), OFFSET(frames), OFFSET(frames), frames_end - frames, frames_end - frames, 4
dynamic:
	.quad	4, OFFSET(hash)		/* DT_HASH */
	.quad	5, OFFSET(strings)	/* DT_STRTAB */
	.quad	6, OFFSET(symbols)	/* DT_SYMTAB */
	.quad	10, strings_end - strings
	.quad	11, 24			/* DT_SYMENT */
	.quad	0x6ffffff0, OFFSET(versions)	/* DT_VERSYM */
	.quad	0x6ffffffc, OFFSET(verdef)	/* DT_VERDEF */
	.quad	0x6ffffffd, 2			/* DT_VERDEFNUM */
	.quad	0, 0
dynamic_end:
symbols:
	.fill	24
	.macro	function_symbol label
	.long	s_\label - strings
	.byte	0x12, 0			/* STB_GLOBAL, STT_FUNC */
	.short	1			/* any section: it is defined */
	.quad	OFFSET(\label), \label\()_end - \label
	.endm
	function_symbol clock_gettime
	function_symbol gettimeofday
	function_symbol time
hash:	/* one bucket, so that it holds for every name */
	.long	1, 4, 1
	.long	0, 2, 3, 0
versions:
	.short	0, 2, 2, 2
	.balign	8
verdef:	/* Elf64_Verdef, Elf64_Verdaux; the hashes are those of the System V ABI */
	.short	1, 1, 1, 1
	.long	0x0deebfa1, 20, 28
	.long	s_name - strings, 0
	.short	1, 0, 2, 1
	.long	0x3ae75f6, 20, 0
	.long	s_version - strings, 0
strings:
	.byte	0
s_name:
	.asciz	"linux-vdso.so.1"
s_version:
	.asciz	"LINUX_2.6"
s_clock_gettime:
	.asciz	"__vdso_clock_gettime"
s_gettimeofday:
	.asciz	"__vdso_gettimeofday"
s_time:
	.asciz	"__vdso_time"
strings_end:

	.balign	8
frames:	/* .eh_frame_hdr: pcrel sdata4, udata4, datarel sdata4 (LSB, Exception Frames) */
	.byte	1, 0x1b, 0x03, 0x3b
	.long	cie - .
	.long	1
	.long	code - frames, fde - frames
cie:
	.long	cie_end - cie - 4, 0
	.byte	1
	.asciz	"zR"
	.byte	1, 0x78, 16, 1, 0x1b	/* code 1, data -8, return address in 16, pcrel sdata4 */
	.byte	0x0c, 7, 8, 0x90, 1	/* CFA = rsp + 8, return address at CFA - 8 */
	.balign	8
cie_end:
fde:
	.long	fde_end - fde - 4
	.long	. - cie
	.long	code - .
	.long	code_end - code
	.byte	0
	.balign	8
fde_end:
	.long	0
frames_end:

	/* rax = nanoseconds of clock rdi, or -errno.  The caller's rsi is kept in the red zone. */
	.macro	ask_clock
	movq	%rdi, -24(%rsp)
	movq	%rsi, -32(%rsp)
	leaq	-24(%rsp), %rdx
	movl	$1, %esi
	movl	$CLOCK, %edi
	movabsq	$RDB_GATE, %rax
	call	*16(%rax)		/* struct rdb_gate, call */
	.endm

	.balign	16
code:
	VDSO_CODE_BEGINS
clock_gettime:				/* (clockid_t, struct timespec *) */
	movslq	%edi, %rdi
	ask_clock
	testq	%rax, %rax
	js	1f
	movq	-32(%rsp), %rsi
	xorl	%edx, %edx
	movl	$1000000000, %ecx
	divq	%rcx
	movq	%rax, (%rsi)
	movq	%rdx, 8(%rsi)
	xorl	%eax, %eax
1:	ret
clock_gettime_end:

	.balign	16
gettimeofday:				/* (struct timeval *, struct timezone *) */
	testq	%rsi, %rsi
	jnz	2f
	testq	%rdi, %rdi
	jz	2f
	movq	%rdi, %rsi
	xorl	%edi, %edi		/* CLOCK_REALTIME */
	ask_clock
	movq	-32(%rsp), %rsi
	xorl	%edx, %edx
	movl	$1000000000, %ecx
	divq	%rcx
	movq	%rax, (%rsi)
	movq	%rdx, %rax
	xorl	%edx, %edx
	movl	$1000, %ecx
	divq	%rcx
	movq	%rax, 8(%rsi)
	xorl	%eax, %eax
	ret
2:	movl	$96, %eax		/* who asks for the time zone gets the system call */
	syscall
	ret
gettimeofday_end:

	.balign	16
time:					/* (time_t *) */
	movq	%rdi, %rsi
	movl	$5, %edi		/* CLOCK_REALTIME_COARSE */
	ask_clock
	xorl	%edx, %edx
	movl	$1000000000, %ecx
	divq	%rcx
	movq	-32(%rsp), %rsi
	testq	%rsi, %rsi
	jz	3f
	movq	%rax, (%rsi)
3:	ret
time_end:
	VDSO_CODE_ENDS
code_end:
vdso_end:

	.section .note.GNU-stack,"",@progbits
