/* Each shift and rotate, by a constant, by one and by %cl, of registers and memory; the flags after each go to memory. */
#include <stdint.h>
#include <stdio.h>

static volatile uint64_t memory;
static uint64_t flags_after[4096];

__asm__(".macro then_flags\n\tpushfq\n\tpopq (%r8)\n\taddq $8, %r8\n\tmovq %rsi, %rax\n\t.endm\n"
	".macro every insn a m\n"
	".irp count, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63\n"
	"\t\\insn $\\count, \\a\n\tthen_flags\n"
	"\t\\insn $\\count, \\m\n\tthen_flags\n"
	"\tmovb $\\count, %cl\n"
	"\t\\insn %cl, \\a\n\tthen_flags\n"
	"\t\\insn %cl, \\m\n\tthen_flags\n"
	".endr\n.endm\n");

#define OP(insn)                                                                                                      \
	"every " insn "b %al (%rdi)\n\tevery " insn "w %ax (%rdi)\n\tevery " insn "l %eax (%rdi)\n\tevery " insn "q %rax (%rdi)\n\t"

void all_forms(volatile uint64_t *memory, uint64_t value, uint64_t unused, uint64_t count, uint64_t *flags);
__asm__(".text\n.globl all_forms\nall_forms:\n\tmovq %rsi, %rax\n\t" OP("rol") OP("ror") OP("rcl") OP("rcr") OP("shl")
		OP("shr") OP("sar") "ret\n");

int main(void)
{
	static const uint64_t values[] = {0x8123456789abcdefull, 0x7edcba9876543210ull};
	uint64_t sum = 0;

	for (unsigned i = 0; i < 2; i++) {
		memory = values[i];
		all_forms(&memory, values[i], 0, 0, flags_after);
		for (unsigned k = 0; k < 7 * 4 * 13 * 4; k++)
			sum = sum * 31 + (flags_after[k] & 0xd5);
	}
	printf("%d\n", sum != 0);
	return 0;
}
