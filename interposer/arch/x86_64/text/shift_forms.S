/* Shifts and rotates of %rax, or of memory at (%rdx), each in the program's own form (opcodes C0, C1, D0 to D3; Intel SDM,
 * volume 2, "RCL/RCR/ROL/ROR" and "SAL/SAR/SHL/SHR").  The manual leaves OF undefined for counts above 1.  Processors
 * differ between the forms: on Intel's model 207 a register that is rotated by a constant keeps OF, memory does not.
 *
 * Each takes 8 bytes: shift_by_count[is memory][op][log2 of the size][count], shift_by_one[is memory][op][log2 of the size],
 * shift_by_cl likewise.
 */
	.macro one opcode op size count operand
	.balign	8, 0xcc
	.if	\size == 1
	.byte	0x66
	.elseif	\size == 3
	.byte	0x48
	.endif
	.if	\size == 0
	.byte	\opcode, \operand + 8 * \op
	.else
	.byte	\opcode + 1, \operand + 8 * \op
	.endif
	.if	\opcode == 0xc0
	.byte	\count
	.endif
	ret
	.endm

	.macro forms opcode counts operand
	op = 0
	.rept	8
	size = 0
	.rept	4
	count = 0
	.rept	\counts
	one	\opcode op size count \operand
	count = count + 1
	.endr
	size = size + 1
	.endr
	op = op + 1
	.endr
	.endm

	.macro table name opcode counts
	.globl	\name
	.hidden	\name
	.balign	8
\name:
	forms	\opcode \counts 0xc0
	forms	\opcode \counts 0x02
	.endm

	.text
	table	shift_by_count 0xc0 64
	table	shift_by_one 0xd0 1
	table	shift_by_cl 0xd2 1
	.section .note.GNU-stack, "", @progbits
