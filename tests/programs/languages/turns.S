# `#=N EXPRESSION` marks the statement that first makes it false, before the Nth event.
	.bss
	.globl	level
	.type	level, @object
	.size	level, 8
level:	.skip	8
	.data
	.globl	fine
	.type	fine, @object
	.size	fine, 1
fine:	.byte	1
	.text
	.globl	main
	.type	main, @function
main:
	.cfi_startproc
	mov	$1, %ebx
again:
	mov	%rbx, level(%rip) #=40 *(long *) &level < 40
	cmp	$26, %ebx
	jne	ask
	movb	$0, fine(%rip) #=26 *(char *) &fine
ask:
	mov	$110, %eax
	syscall
	inc	%ebx
	cmp	$60, %ebx
	jle	again
	xor	%eax, %eax
	ret
	.cfi_endproc
	.size	main, .-main
	.section .note.GNU-stack, "", @progbits
