/* Every shift and rotate of the replicas' arithmetic (interposer/arch/x86_64/text/alu.c), in each form of the instruction, of
 * registers and of memory, and for each count: the same result and the same flags, defined or not, as the instruction itself has on this processor;
 * and what the manual defines (Intel SDM, volume 2, "RCL/RCR/ROL/ROR" and "SAL/SAR/SHL/SHR"). */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "arch/x86_64/text/alu.h"

#define CF 0x1ull
#define OF 0x800ull
#define ROTATES(op) ((op) < 4)

enum form { CONSTANT, ONE, BY_CL };
typedef uint64_t routine(uint64_t a, uint64_t *flags, uint64_t count, uint64_t unused, uint64_t *memory);

static uint8_t *text;

/* mov %rdi,%rax; mov %edx,%ecx; push (%rsi); popf; the instruction on %rax or (%r8); pushf; pop (%rsi); ret */
static routine *write_routine(enum form form, unsigned op, unsigned size, uint8_t count, bool memory)
{
	static const uint8_t before[] = {0x48, 0x89, 0xf8, 0x89, 0xd1, 0xff, 0x36, 0x9d}, after[] = {0x9c, 0x8f, 0x06, 0xc3};
	static const uint8_t opcodes[] = {[CONSTANT] = 0xc0, [ONE] = 0xd0, [BY_CL] = 0xd2};
	uint8_t *at = text;

	at = (uint8_t *)memcpy(at, before, sizeof(before)) + sizeof(before);
	if (size == 2)
		*at++ = 0x66;
	if (size == 8 || memory)
		*at++ = (uint8_t)(0x40 + (size == 8 ? 8 : 0) + memory);
	*at++ = opcodes[form] + (size > 1);
	*at++ = (uint8_t)((memory ? 0 : 0xc0) + 8 * op);
	if (form == CONSTANT)
		*at++ = count;
	memcpy(at, after, sizeof(after));
	return (routine *)(void *)text;
}

/* One bit at a time.  *defined: of the flags. */
static uint64_t model(unsigned op, unsigned size, uint64_t a, unsigned count, uint64_t *flags, uint64_t *defined)
{
	unsigned bits = 8 * size, last = bits - 1, turns = count & (size == 8 ? 63 : 31);
	uint64_t cf = *flags & CF, top = 0, of;

	*defined = ALU_FLAGS;
	if (turns == 0)
		return a;
	for (unsigned i = 0; i < turns; i++) {
		uint64_t high = a >> last & 1, low = a & 1, in = 0;

		switch (op) {
		case 0: in = high; break;
		case 1: in = low; break;
		case 2:
		case 3: in = cf; break;
		case 7: in = high; break;
		}
		top = high;
		cf = op % 2 == 0 ? high : low;
		a = op % 2 == 0 ? (a << 1 | in) & alu_mask(size) : a >> 1 | in << last;
	}
	of = op % 2 == 0 ? (a >> last ^ cf) & 1 : (a >> last ^ a >> (last - 1)) & 1;
	if (op == 5)
		of = top;
	if (op == 7)
		of = 0;
	*flags = (*flags & ~(CF | OF)) | cf | (of ? OF : 0);
	if (turns != 1)
		*defined &= ~OF;
	if (ROTATES(op))
		return a; /* the others stay */
	*flags = (*flags & ~0xd4ull) | (a == 0 ? 0x40 : 0) | (a >> last ? 0x80 : 0) | (__builtin_parityll(a & 0xff) ? 0 : 4);
	*defined &= ~0x10ull;
	if (op != 7 && turns >= bits)
		*defined &= ~CF;
	return a;
}

static int compare(routine *own, enum form form, const struct alu_shift *s, uint64_t a, uint64_t flags)
{
	const unsigned op = s->op, size = s->size, count = s->count;
	uint64_t own_flags = flags | 2, our_flags = flags, said = flags, defined;
	uint64_t memory = a, theirs = own(a, &own_flags, count, 0, &memory), ours = alu_shift(s, a, &our_flags), should;

	theirs = (s->memory ? memory : theirs) & alu_mask(size);
	should = model(op, size, a, form == ONE ? 1 : count, &said, &defined);
	if (ours == theirs && !((our_flags ^ own_flags) & ALU_FLAGS) && ours == should && !((our_flags ^ said) & defined))
		return 0;
	printf("form %d %s op %u size %u count %u of %#lx with %#lx\n", form, s->memory ? "memory" : "register", op, size,
	       count, a, flags);
	printf("  replica %#lx %#lx, processor %#lx %#lx, manual %#lx %#lx of %#lx\n", ours, our_flags, theirs, own_flags, should,
			said, defined);
	return 1;
}

int main(void)
{
	static const uint64_t values[] = {0, 1, 0x8123456789abcdefull, 0x7edcba9876543210ull, 0x8080808080808080ull, UINT64_MAX};
	static const uint64_t before[] = {0, CF, ALU_FLAGS, ALU_FLAGS & ~CF};
	static const int by[] = {[CONSTANT] = ALU_BY_COUNT, [ONE] = ALU_BY_ONE, [BY_CL] = ALU_BY_CL};
	unsigned bad = 0, done = 0;

	text = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (text == MAP_FAILED) {
		perror("mmap");
		return 2;
	}
	for (unsigned kind = 0; kind < 6; kind++)
		for (unsigned op = 0; op < 8; op++) {
			if (op == 6)
				continue; /* shl's other number */
			for (unsigned size = 1; size <= 8; size *= 2)
				for (unsigned count = 0; count < (kind / 2 == ONE ? 1 : 256); count++) {
					const enum form form = kind / 2;
					const struct alu_shift s = {.op = op, .size = size, .by = by[form], .memory = kind % 2,
								    .count = (uint8_t)count};
					routine *own = write_routine(form, op, size, (uint8_t)count, s.memory);

					for (unsigned i = 0; i < 6 * 4; i++, done++)
						bad += (unsigned)compare(own, form, &s, values[i / 4] & alu_mask(size), before[i % 4]);
				}
		}
	printf("%u compared, %u differ\n", done, bad);
	return bad != 0;
}
