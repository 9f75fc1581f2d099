/* Shifts and rotates of %rax by a constant, each in the program's own form (opcodes C0, C1, D0, D1; Intel SDM, volume 2,
 * "RCL/RCR/ROL/ROR" and "SAL/SAR/SHL/SHR").  The manual leaves OF undefined for counts above 1, and processors differ
 * between the forms, so a shift by %cl cannot stand for one by a constant (alu_shift_constant).
 *
 * Each takes 8 bytes: shift_by_count[op][log2 of the size][count], shift_by_one[op][log2 of the size].
 */
	.macro one opcode op size count
	.balign	8, 0xcc
	.if	\size == 1
	.byte	0x66
	.elseif	\size == 3
	.byte	0x48
	.endif
	.if	\size == 0
	.byte	\opcode, 0xc0 + 8 * \op
	.else
	.byte	\opcode + 1, 0xc0 + 8 * \op
	.endif
	.if	\opcode == 0xc0
	.byte	\count
	.endif
	ret
	.endm

	.macro forms opcode counts
	op = 0
	.rept	8
	size = 0
	.rept	4
	count = 0
	.rept	\counts
	one	\opcode op size count
	count = count + 1
	.endr
	size = size + 1
	.endr
	op = op + 1
	.endr
	.endm

	.text
	.globl	shift_by_count, shift_by_one
	.hidden	shift_by_count, shift_by_one
	.balign	8
shift_by_count:
	forms	0xc0 64
	.balign	8
shift_by_one:
	forms	0xd0 1
	.section .note.GNU-stack, "", @progbits
