/* Opcodes: Intel SDM vol. 2, appendix A.  Only instructions that cannot jump, touch rsp, use MMX or x87 registers, or
 * fault once their memory operand is known to be accessible and aligned. */
#include "arch/x86_64/text/vector.h"
#include <string.h>
#include <sys/mman.h>
#include "arch/registers.h"
#include "arch/x86_64/base/xstate.h"
#include "interface/agent.h"
#include "text/registers.h"
#include "space/upper_memory.h"

#define CODE_SLOT 32
#define CODE_SLOTS 4096
#define XSTATE_SSE 2u
#define XSTATE_AVX_ALL 0xe6u /* SSE, AVX, AVX-512: their registers overlap */

/* Shared with the assembly below by these offsets. */
struct vector_cpu {
	uint64_t reg[16]; /* 0: numbered as in instructions; [4], rsp, is not loaded */
	uint64_t flags;   /* 128 */
	const void *code; /* 136 */
};
struct vector_cpu vector_cpu __attribute__((visibility("hidden")));

void vector_execute(void *xsave, uint32_t mask);

__asm__(".text\n"
	".globl vector_execute\n"
	".hidden vector_execute\n"
	".type vector_execute, @function\n"
	"vector_execute:\n"
	"	push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"	push %rdi; push %rsi\n"
	"	mov %esi, %eax; xor %edx, %edx\n"
	"	xrstor64 (%rdi)\n"
	"	pushq vector_cpu+128(%rip); popfq\n"
	"	mov vector_cpu+0(%rip), %rax;  mov vector_cpu+8(%rip), %rcx\n"
	"	mov vector_cpu+16(%rip), %rdx; mov vector_cpu+24(%rip), %rbx\n"
	"	mov vector_cpu+40(%rip), %rbp; mov vector_cpu+48(%rip), %rsi\n"
	"	mov vector_cpu+56(%rip), %rdi; mov vector_cpu+64(%rip), %r8\n"
	"	mov vector_cpu+72(%rip), %r9;  mov vector_cpu+80(%rip), %r10\n"
	"	mov vector_cpu+88(%rip), %r11; mov vector_cpu+96(%rip), %r12\n"
	"	mov vector_cpu+104(%rip), %r13; mov vector_cpu+112(%rip), %r14\n"
	"	mov vector_cpu+120(%rip), %r15\n"
	"	call *vector_cpu+136(%rip)\n"
	"	mov %rax, vector_cpu+0(%rip);  mov %rcx, vector_cpu+8(%rip)\n"
	"	mov %rdx, vector_cpu+16(%rip); mov %rbx, vector_cpu+24(%rip)\n"
	"	mov %rbp, vector_cpu+40(%rip); mov %rsi, vector_cpu+48(%rip)\n"
	"	mov %rdi, vector_cpu+56(%rip); mov %r8, vector_cpu+64(%rip)\n"
	"	mov %r9, vector_cpu+72(%rip);  mov %r10, vector_cpu+80(%rip)\n"
	"	mov %r11, vector_cpu+88(%rip); mov %r12, vector_cpu+96(%rip)\n"
	"	mov %r13, vector_cpu+104(%rip); mov %r14, vector_cpu+112(%rip)\n"
	"	mov %r15, vector_cpu+120(%rip)\n"
	"	pushfq; popq vector_cpu+128(%rip)\n"
	"	pop %rax; pop %rdi\n"
	"	xor %edx, %edx\n"
	"	xsave64 (%rdi)\n"
	"	pushq $0x1f80; ldmxcsr (%rsp); lea 8(%rsp), %rsp\n"
	"	cld\n"
	"	test $4, %al; jz 1f; vzeroall\n"
	"1:	pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
	"	ret\n"
	".size vector_execute, . - vector_execute\n");

enum {
	LOAD = 1,     /* may read its memory operand */
	STORE = 2,    /* writes it */
	VEX = 4,      /* only with a VEX prefix */
	SSE = 8,      /* only without */
	ALIGNED = 16, /* aligned even with a VEX prefix, unless repeat prefixes say otherwise */
	LOOSE = 32,   /* need not be aligned even without a VEX prefix */
	GPR = 64,     /* general registers besides the memory operand's */
};

static uint8_t class_0f(const struct insn *in)
{
	bool prefixed = in->rep || in->repne, packed = in->opsize || in->vector_prefix;

	switch (in->op) {
	case 0x10: return LOAD | LOOSE;
	case 0x11: return STORE | LOOSE;
	case 0x12:
	case 0x16: return in->rep ? LOAD : LOAD | LOOSE;
	case 0x13:
	case 0x17: return STORE | LOOSE;
	case 0x14:
	case 0x15: return LOAD;
	case 0x28: return LOAD | ALIGNED;
	case 0x29: return STORE | ALIGNED;
	/* other forms convert from and to MMX */
	case 0x2a:
	case 0x2c:
	case 0x2d: return prefixed || in->vector_prefix ? LOAD | LOOSE | GPR : 0;
	case 0x2e:
	case 0x2f: return LOAD | LOOSE;
	case 0x50: return in->memory ? 0 : LOAD | GPR;
	case 0x51 ... 0x59:
	case 0x5c ... 0x5f:
	case 0xc2: return prefixed ? LOAD | LOOSE : LOAD;
	case 0x5a: return in->opsize ? LOAD : LOAD | LOOSE;
	case 0x5b: return in->repne ? 0 : LOAD;
	case 0xe6: return in->rep ? LOAD | LOOSE : in->opsize || in->repne ? LOAD : 0;
	case 0x77: return in->vector_prefix ? LOAD : 0;
	case 0x60 ... 0x6d:
	case 0x74 ... 0x76: return packed ? LOAD : 0;
	case 0x6e: return packed ? LOAD | LOOSE | GPR : 0;
	case 0x6f: return in->rep ? LOAD | LOOSE : packed ? LOAD | ALIGNED : 0;
	case 0x70: return packed || prefixed ? LOAD : 0;
	case 0x71:
	case 0x72:
	case 0x73: return packed && !in->memory ? LOAD : 0;
	case 0x7c:
	case 0x7d:
	case 0xd0: return in->opsize || in->repne ? LOAD : 0;
	case 0x7e: return in->rep ? LOAD | LOOSE : packed ? STORE | LOOSE | GPR : 0;
	case 0x7f: return in->rep ? STORE | LOOSE : packed ? STORE | ALIGNED : 0;
	case 0xc4: return packed ? LOAD | LOOSE | GPR : 0;
	case 0xc5:
	case 0xd7: return packed && !in->memory ? LOAD | GPR : 0;
	case 0xc6: return LOAD;
	case 0xd6: return in->opsize || (in->vector_prefix && !prefixed) ? STORE | LOOSE : 0;
	case 0xd1 ... 0xd5:
	case 0xd8 ... 0xdf:
	case 0xe0 ... 0xe5:
	case 0xe8 ... 0xef:
	case 0xf1 ... 0xf6:
	case 0xf8 ... 0xfe: return packed ? LOAD : 0;
	case 0xf0: return in->repne || in->vector_prefix ? LOAD | LOOSE : 0;
	/* integer: bit tests by register, scans, counts, double shifts, exchanges, byte swap */
	case 0xa3:
	case 0xab:
	case 0xb3:
	case 0xbb: return in->memory ? 0 : LOAD | GPR | SSE;
	case 0xb8: return in->rep ? LOAD | LOOSE | GPR | SSE : 0;
	case 0xbc:
	case 0xbd: return LOAD | LOOSE | GPR | SSE;
	case 0xa4:
	case 0xa5:
	case 0xac:
	case 0xad:
	case 0xba:
	case 0xb0:
	case 0xb1:
	case 0xc0:
	case 0xc1: return in->memory ? 0 : LOAD | GPR | SSE;
	}
	return 0;
}

static uint8_t class_0f38(const struct insn *in)
{
	if (!in->opsize && !in->vector_prefix)
		return 0; /* MMX, SHA and others */
	switch (in->op) {
	case 0x00 ... 0x0b:
	case 0x10:
	case 0x14:
	case 0x15:
	case 0x1c ... 0x1e:
	case 0x28:
	case 0x29:
	case 0x2b:
	case 0x37 ... 0x41:
	case 0xdb ... 0xdf: return LOAD;
	case 0x17: return LOAD;
	case 0x20 ... 0x25:
	case 0x30 ... 0x35: return LOAD | LOOSE;
	case 0x0c ... 0x0f:
	case 0x13:
	case 0x16:
	case 0x18 ... 0x1a:
	case 0x36:
	case 0x45 ... 0x47:
	case 0x58 ... 0x5a:
	case 0x78:
	case 0x79:
	case 0x96 ... 0x9f:
	case 0xa6 ... 0xaf:
	case 0xb6 ... 0xbf: return LOAD | VEX;
	case 0xf2:
	case 0xf3:
	case 0xf5:
	case 0xf7: return LOAD | VEX | GPR;
	case 0xf6: return LOAD | VEX | GPR;
	}
	return 0;
}

static uint8_t class_0f3a(const struct insn *in)
{
	if (!in->opsize && !in->vector_prefix)
		return 0;
	switch (in->op) {
	case 0x08 ... 0x0f:
	case 0x40 ... 0x42:
	case 0x44:
	case 0xdf: return LOAD;
	case 0x14 ... 0x17: return STORE | LOOSE | GPR;
	case 0x20 ... 0x22: return LOAD | LOOSE | GPR;
	case 0x60 ... 0x63: return LOAD | LOOSE | GPR;
	case 0x00 ... 0x02:
	case 0x04 ... 0x06:
	case 0x18:
	case 0x38:
	case 0x46:
	case 0x4a ... 0x4c: return LOAD | VEX;
	case 0x19:
	case 0x39: return STORE | VEX;
	case 0xf0: return LOAD | VEX | GPR;
	}
	return 0;
}

static uint8_t vvvv(const struct insn *in)
{
	uint8_t b = in->bytes[in->op_at - 1]; /* the last prefix byte, in both VEX forms */

	return in->vector_prefix ? (uint8_t)(~b >> 3 & 15) : 0xff;
}

/* Makes code with the memory operand replaced by [scratch].  Returns its length; 0: not possible. */
static unsigned rewrite(const struct insn *in, uint8_t scratch, uint8_t *code)
{
	unsigned n = 0, modrm = in->op_at + 1u, tail;
	uint8_t op_at;

	if (in->vector_prefix && in->bytes[0] != 0xc4 && in->bytes[0] != 0xc5)
		return 0;
	for (unsigned i = 0; i <= in->op_at; i++) { /* segment prefixes are dropped: the address includes the base */
		uint8_t b = in->bytes[i];

		if (in->vector_prefix || i == in->op_at || (b != 0x64 && b != 0x65 && b != 0x67))
			code[n++] = b;
	}
	op_at = (uint8_t)(n - 1);
	if (in->memory) {
		if (in->rex) { /* B and X belong to the old operand; REX is right before the opcode */
			unsigned at = op_at - (in->map == MAP_ONE ? 1 : in->map == MAP_0F ? 2 : 3);

			if ((code[at] & 0xf0) != 0x40)
				return 0;
			code[at] &= 0xfc;
		}
		if (in->vector_prefix && op_at >= 3 && code[op_at - 3] == 0xc4)
			code[op_at - 2] |= 0x60; /* inverted */
		code[n++] = (uint8_t)((in->bytes[modrm] & 0x38) | scratch);
		tail = in->map == MAP_0F3A ||
		       (in->map == MAP_0F &&
			(in->op == 0x70 || in->op == 0xba || in->op == 0xc2 || in->op == 0xc4 || in->op == 0xc6));
		if (in->map == MAP_ONE && (in->op == 0x80 || in->op == 0x83))
			tail = 1;
		else if (in->map == MAP_ONE && in->op == 0x81)
			tail = decode_size(in) == 2 ? 2 : 4;
		memcpy(code + n, in->bytes + in->len - tail, tail);
		n += tail;
	} else {
		memcpy(code + n, in->bytes + modrm, in->len - modrm);
		n += in->len - modrm;
	}
	code[n++] = 0xc3; /* ret */
	return n;
}

static uint8_t *code_for(const struct insn *in, uint64_t pc, uint8_t scratch)
{
	static uint8_t *area;
	static struct insn made[CODE_SLOTS];
	static uint8_t made_scratch[CODE_SLOTS];
	unsigned slot = (unsigned)(pc ^ pc >> 12) % CODE_SLOTS;
	uint8_t *code;

	if (!area) {
		area = mmap(NULL, CODE_SLOT * CODE_SLOTS, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (area == MAP_FAILED)
			area = (uint8_t *)-1;
	}
	if (area == (uint8_t *)-1) /* forbidden by this system: the instructions are stepped for real */
		return NULL;
	code = area + slot * CODE_SLOT;
	if (made[slot].len == in->len && made_scratch[slot] == scratch && !memcmp(made[slot].bytes, in->bytes, in->len))
		return code;
	made[slot].len = 0;
	if (!rewrite(in, scratch, code))
		return NULL;
	made[slot] = *in;
	made_scratch[slot] = scratch;
	return code;
}

static bool xsave_ready(const struct _libc_fpstate *fp, bool avx)
{
	if (!fp || (uint64_t)fp % 64)
		return false;
	const struct xstate_words words = xstate_words(fp);
	if (words.xstate_size < LEGACY + 64 /* header of XSAVE */)
		return false;
	/* an unmasked exception would be raised in our code */
	return (fp->mxcsr & 0x1f80) == 0x1f80 && (!avx || (words.features & 4));
}

static uint32_t state_mask(const struct _libc_fpstate *fp, bool avx)
{
	return avx ? (uint32_t)xstate_words(fp).features & XSTATE_AVX_ALL : XSTATE_SSE;
}

bool vector_locked(const struct insn *in)
{
	if (!in->memory || in->vector_prefix || in->map > MAP_0F)
		return false;
	if (in->map == MAP_ONE && (in->op == 0x86 || in->op == 0x87))
		return true;
	if (!in->lock)
		return false;
	if (in->map == MAP_ONE)
		return (in->op < 0x32 && (in->op & 7) < 2) || (in->op >= 0x80 && in->op <= 0x83 && in->op != 0x82) ||
		       in->op == 0xf6 || in->op == 0xf7 || in->op == 0xfe || in->op == 0xff;
	return in->op == 0xab || in->op == 0xb3 || in->op == 0xbb || in->op == 0xba || in->op == 0xb0 ||
	       in->op == 0xb1 || in->op == 0xc0 || in->op == 0xc1 || (in->op == 0xc7 && (in->reg & 7) == 1);
}

/* Is the reg field of ModRM part of the opcode? */
static bool group(const struct insn *in)
{
	return in->map == MAP_ONE ? in->op >= 0x80 && in->op != 0x86 && in->op != 0x87
				  : in->op == 0xba || in->op == 0xc7;
}

static uint8_t class_locked(const struct insn *in)
{
	bool byte = in->map == MAP_ONE ? !(in->op & 1) : in->op == 0xb0 || in->op == 0xc0;

	if (!group(in) && byte && !in->rex && in->reg >= 4)
		return 0; /* ah, ch, dh, bh: a REX prefix would change their meaning */
	/* bit tests by register reach beyond their operand; f6 and f7 are test below 2 */
	if (in->map == MAP_0F && (in->op == 0xab || in->op == 0xb3 || in->op == 0xbb))
		return 0;
	if (in->map == MAP_ONE && (in->op & 0xfe) == 0xf6 && (in->reg & 7) != 2 && (in->reg & 7) != 3)
		return 0;
	if (in->map == MAP_ONE && in->op >= 0xfe && (in->reg & 7) > 1)
		return 0;
	return LOAD | STORE | LOOSE | (group(in) ? 0 : GPR) | (in->map == MAP_0F && in->op == 0xc7 ? ALIGNED : 0);
}

static uint8_t class_of(const struct insn *in)
{
	if (vector_locked(in))
		return class_locked(in);
	if (in->lock || in->map == MAP_ONE)
		return 0;
	uint8_t c = in->map == MAP_0F ? class_0f(in) : in->map == MAP_0F38 ? class_0f38(in) : class_0f3a(in);

	if (in->vector_prefix && (in->compressed || (c & SSE)))
		return 0;
	if (!in->vector_prefix && (c & VEX))
		return 0;
	return c;
}

/* Size of the memory operand, precise enough for watchpoints. */
static unsigned width(const struct insn *in, unsigned vector)
{
	unsigned scalar = in->rep ? 4 : 8;

	if (vector_locked(in))
		return in->op == 0xc7 && in->map == MAP_0F ? (in->rex & 8 ? 16 : 8)
		       : in->op & 1 || in->op == 0xba      ? decode_size(in)
							   : 1;
	if (in->map != MAP_0F)
		return vector;
	switch (in->op) {
	case 0x10:
	case 0x11:
	case 0x51 ... 0x59:
	case 0x5a:
	case 0x5c ... 0x5f:
	case 0xc2: return in->rep || in->repne ? scalar : vector;
	case 0x12:
	case 0x16: return in->rep ? vector : 8;
	case 0x13:
	case 0x17:
	case 0xd6: return 8;
	case 0x2a:
	case 0x6e: return in->rex & 8 ? 8 : 4;
	case 0x2c:
	case 0x2d: return scalar;
	case 0x2e:
	case 0x2f: return in->opsize ? 8 : 4;
	case 0x7e: return in->rep || in->rex & 8 ? 8 : 4;
	case 0xb8:
	case 0xbc:
	case 0xbd: return decode_size(in);
	case 0xc4: return 2;
	}
	return vector;
}

/* Is the memory operand accessible, and aligned as the instruction requires? */
static bool operand_there(const struct insn *in, uint8_t c, uint64_t addr, struct emulated *out)
{
	bool wide = in->vector_prefix && in->bytes[in->op_at - 1] & 4; /* VEX.L */
	unsigned size = wide ? 32 : 16;
	bool aligned = c & ALIGNED || (!in->vector_prefix && !(c & LOOSE));

	if (!in->memory)
		return true;
	if (vector_locked(in)) {
		size = width(in, size);
		aligned = size >= 8 && in->op == 0xc7;
	}
	if (aligned && addr % size)
		return false;
	if (!(c & STORE ? upper_writable(addr, size) : upper_readable(addr, size)))
		return false;
	if ((c & STORE) && emulate_before_store)
		emulate_before_store(addr, size);
	if ((c & STORE) && (c & LOAD))
		out->access[out->naccess++] = (struct access){addr, size, false};
	out->access[out->naccess++] = (struct access){addr, width(in, size), c & STORE};
	return true;
}

bool vector_emulate(ucontext_t *uc, const struct insn *in, uint64_t addr, struct emulated *out)
{
	static const uint8_t candidates[3] = {3, 6, 7}; /* rbx, rsi, rdi: never implicit operands of these */
	uint8_t c = class_of(in), third = vvvv(in), scratch = 0;
	greg_t *g = uc->uc_mcontext.gregs;
	void *fp = uc->uc_mcontext.fpregs;

	if (!c || !(in->has_modrm || in->op == 0x77) || !xsave_ready(fp, in->vector_prefix))
		return false;
	if ((c & GPR) && (in->reg == 4 || third == 4 || (!in->memory && in->rm == 4)))
		return false; /* rsp */
	for (unsigned i = 0; i < 3; i++)
		if (candidates[i] != in->reg && candidates[i] != third)
			scratch = candidates[i];
	vector_cpu.code = code_for(in, uc_pc(uc), scratch);
	if (!vector_cpu.code || !operand_there(in, c, addr, out))
		return false;
	for (unsigned i = 0; i < 16; i++)
		vector_cpu.reg[i] = (uint64_t)g[registers_greg[i]];
	if (in->memory)
		vector_cpu.reg[scratch] = addr;
	vector_cpu.flags = (uint64_t)g[REG_EFL] & 0x8d5;
	vector_execute(fp, state_mask(fp, in->vector_prefix));
	for (unsigned i = 0; i < 16; i++)
		if (i != 4 && !(in->memory && i == scratch))
			g[registers_greg[i]] = (greg_t)vector_cpu.reg[i];
	g[REG_EFL] = (greg_t)(((uint64_t)g[REG_EFL] & ~0x8d5ull) | (vector_cpu.flags & 0x8d5));
	g[REG_RIP] += in->len;
	return true;
}
