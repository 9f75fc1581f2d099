/* What debuggers are told of the code in upper memory that is rdb's own, the gate's code page and the
 * vDSO: names, extents, how to unwind.  Linked at the addresses of layout.h (interposer/meson.build) into
 * own-code.elf, which the GDB extension adds; without it GDB cannot step where such code is.
 * Code itself is read from memory: of the gate's there are only the places here.
 */
#include "interface/layout.h"

	.cfi_sections .debug_frame

	.macro	function name, bytes
	.globl	\name
	.type	\name, @function
	.size	\name, \bytes
\name:
	.endm

	.section .gate, "ax", @progbits
	function rdb_program_start, (GATE_CODE_UPCALL_RETURN-1)
	.cfi_startproc
	.cfi_undefined rip
	.skip	GATE_CODE_UPCALL_RETURN - 1, 0x90
	.cfi_endproc

	/* Function of the program that a library below called: its frame is a fixed room below the stack pointer
	 * at the gate, which points to a return address (gate_upcall).  Callers are looked for one byte before
	 * where they are returned to. */
	function rdb_called_by_library, (GATE_CODE_SYSCALL-GATE_CODE_UPCALL_RETURN+1)
	.cfi_startproc
	.cfi_def_cfa rsp, RDB_UPCALL_ROOM + 16
	.cfi_offset rip, -8
	.skip	GATE_CODE_SYSCALL - GATE_CODE_UPCALL_RETURN + 1, 0x90
	.cfi_endproc

	function rdb_system_call, 16
	.skip	16, 0x90

	.section .vdso, "ax", @progbits
#define VDSO_CODE_BEGINS .cfi_startproc
#define VDSO_CODE_ENDS .cfi_endproc
#include "arch/x86_64/answer/vdso.S"

	.macro	vdso_function label
	.globl	__vdso_\label
	.type	__vdso_\label, @function
	.set	__vdso_\label, \label
	.size	__vdso_\label, \label\()_end - \label
	.endm
	vdso_function clock_gettime
	vdso_function gettimeofday
	vdso_function time
