/* Encodings: Intel SDM vol. 2. */
#include "arch/trampoline_code.h"
#include "arch/registers.h"
#include <string.h>

enum { RAX, RCX, RDX, RBX, RSP };

static void step(struct code *c, enum leave how, uint8_t restore, uint64_t addr)
{
	if (c->nsteps == STEPS || c->end - c->at < 32) {
		c->failed = true;
		c->at = c->start; /* the code will not be used */
		c->nsteps = 0;
		return;
	}
	c->steps[c->nsteps++] = (struct step){(uint32_t)(c->at - c->start), how, restore, addr};
}

static void put(struct code *c, const void *bytes, size_t n)
{
	memcpy(c->at, bytes, n);
	c->at += n;
}

#define BYTES(c, ...) put(c, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void put32(struct code *c, uint32_t v)
{
	put(c, &v, 4);
}

static void put64(struct code *c, uint64_t v)
{
	put(c, &v, 8);
}

static bool fits32(int64_t v)
{
	return v == (int32_t)v;
}

/* A 32-bit displacement from its own end, `more` bytes further on in the instruction. */
static void put_relative(struct code *c, uint64_t target, unsigned more)
{
	int64_t d = (int64_t)(target - ((uint64_t)c->at + 4 + more));

	if (!fits32(d))
		c->failed = true;
	put32(c, (uint32_t)d);
}

/* mov between a register (0-7) and a field of the data */
static void move_data(struct code *c, bool to_data, unsigned reg, const void *field)
{
	BYTES(c, 0x48, to_data ? 0x89 : 0x8b, (uint8_t)(reg << 3 | 5));
	put_relative(c, (uint64_t)field, 0);
}

static void load_constant(struct code *c, unsigned reg, uint64_t v)
{
	BYTES(c, 0x48, (uint8_t)(0xb8 | reg));
	put64(c, v);
}

void code_begin(struct code *c)
{
	step(c, LEAVE_BACK, 0, 0);
	move_data(c, true, RCX, &c->data->rcx);
}

void code_restore(struct code *c, uint8_t restore)
{
	step(c, LEAVE_BACK, RESTORE_RCX | restore, 0);
	move_data(c, false, RCX, &c->data->rcx);
}

/* rcx = rax - value; the program's rax is in the data and restored */
static void compare_rax(struct code *c, uint64_t value)
{
	step(c, LEAVE_BACK, RESTORE_RCX | RESTORE_RAX, 0);
	load_constant(c, RCX, -value);
	step(c, LEAVE_BACK, RESTORE_RCX | RESTORE_RAX, 0);
	BYTES(c, 0x48, 0x8d, 0x0c, 0x01); /* lea (%rcx,%rax), %rcx */
	step(c, LEAVE_BACK, RESTORE_RCX | RESTORE_RAX, 0);
	move_data(c, false, RAX, &c->data->rax);
}

static void save_rax(struct code *c)
{
	step(c, LEAVE_BACK, RESTORE_RCX, 0);
	move_data(c, true, RAX, &c->data->rax);
}

void code_compare_register(struct code *c, unsigned n, uint64_t value)
{
	uint8_t rex = (uint8_t)(0x48 | (n >> 3));
	int64_t minus = (int64_t)-value;

	if (n == RCX) {
		step(c, LEAVE_BACK, RESTORE_RCX, 0);
		move_data(c, false, RCX, &c->data->rcx);
	}
	if (fits32(minus)) { /* lea minus(%reg), %rcx */
		step(c, LEAVE_BACK, RESTORE_RCX, 0);
		BYTES(c, rex, 0x8d, (uint8_t)(0x88 | (n & 7)));
		if ((n & 7) == 4)
			BYTES(c, 0x24);
		put32(c, (uint32_t)minus);
		return;
	}
	if (n == RCX) {
		save_rax(c);
		step(c, LEAVE_BACK, RESTORE_RCX | RESTORE_RAX, 0);
		BYTES(c, 0x48, 0x89, 0xc8); /* mov %rcx, %rax */
		compare_rax(c, value);
		return;
	}
	step(c, LEAVE_BACK, RESTORE_RCX, 0);
	load_constant(c, RCX, (uint64_t)minus);
	step(c, LEAVE_BACK, RESTORE_RCX, 0);
	if (n == RSP) /* it cannot be an index: lea (%rsp,%rcx), %rcx */
		BYTES(c, 0x48, 0x8d, 0x0c, 0x0c);
	else /* lea (%rcx,%reg), %rcx */
		BYTES(c, (uint8_t)(0x48 | (n >> 3) << 1), 0x8d, 0x0c, (uint8_t)((n & 7) << 3 | 1));
}

void code_compare_vector(struct code *c, unsigned n, uint64_t low)
{
	int64_t minus = (int64_t)-low;

	if (!fits32(minus)) {
		save_rax(c);
		step(c, LEAVE_BACK, RESTORE_RCX | RESTORE_RAX, 0);
		BYTES(c, 0x66, (uint8_t)(0x48 | (n >> 3) << 2), 0x0f, 0x7e,
		      (uint8_t)(0xc0 | (n & 7) << 3)); /* movq, %rax */
		compare_rax(c, low);
		return;
	}
	step(c, LEAVE_BACK, RESTORE_RCX, 0);
	BYTES(c, 0x66, (uint8_t)(0x48 | (n >> 3) << 2), 0x0f, 0x7e, (uint8_t)(0xc1 | (n & 7) << 3)); /* movq, %rcx */
	step(c, LEAVE_BACK, RESTORE_RCX, 0);
	BYTES(c, 0x48, 0x8d, 0x89); /* lea minus(%rcx), %rcx */
	put32(c, (uint32_t)minus);
}

void code_compare_word(struct code *c, uint64_t addr, uint64_t value)
{
	int64_t minus = (int64_t)-value;

	if (fits32(minus)) {
		step(c, LEAVE_BACK, RESTORE_RCX, 0);
		load_constant(c, RCX, addr);
		step(c, LEAVE_BACK, RESTORE_RCX, 0);
		BYTES(c, 0x48, 0x8b, 0x09); /* mov (%rcx), %rcx */
		step(c, LEAVE_BACK, RESTORE_RCX, 0);
		BYTES(c, 0x48, 0x8d, 0x89); /* lea minus(%rcx), %rcx */
		put32(c, (uint32_t)minus);
		return;
	}
	save_rax(c);
	step(c, LEAVE_BACK, RESTORE_RCX | RESTORE_RAX, 0);
	BYTES(c, 0x48, 0xa1); /* movabs addr, %rax */
	put64(c, addr);
	compare_rax(c, value);
}

void code_count(struct code *c)
{
	step(c, LEAVE_BACK, RESTORE_RCX, 0);
	move_data(c, false, RCX, &c->data->left);
	step(c, LEAVE_BACK, RESTORE_RCX, 0);
	BYTES(c, 0x48, 0x8d, 0x49, 0x01); /* lea 1(%rcx), %rcx */
	step(c, LEAVE_BACK, RESTORE_RCX, 0);
	move_data(c, true, RCX, &c->data->left);
}

/* Stores the new count first: a thread stopped between the two stores starts again. */
void code_count_since(struct code *c, const uint64_t *event)
{
	enum { BOTH = RESTORE_RCX | RESTORE_RAX };
	uint8_t *same;

	save_rax(c);
	step(c, LEAVE_BACK, BOTH, 0);
	BYTES(c, 0x48, 0xa1); /* movabs event, %rax */
	put64(c, (uint64_t)event);
	step(c, LEAVE_BACK, BOTH, 0);
	move_data(c, false, RCX, &c->data->event);
	step(c, LEAVE_BACK, BOTH, 0);
	BYTES(c, 0x48, 0xf7, 0xd1); /* not %rcx: no flag changes */
	step(c, LEAVE_BACK, BOTH, 0);
	BYTES(c, 0x48, 0x8d, 0x4c, 0x08, 0x01); /* lea 1(%rax,%rcx), %rcx */
	step(c, LEAVE_BACK, BOTH, 0);
	BYTES(c, 0xe3, 0); /* jrcxz same */
	same = c->at;
	step(c, LEAVE_BACK, BOTH, 0);
	load_constant(c, RCX, 0);
	step(c, LEAVE_BACK, BOTH, 0);
	move_data(c, true, RCX, &c->data->left);
	step(c, LEAVE_BACK, BOTH, 0);
	move_data(c, true, RAX, &c->data->event);
	same[-1] = (uint8_t)(c->at - same);
	step(c, LEAVE_BACK, BOTH, 0);
	move_data(c, false, RAX, &c->data->rax);
	code_count(c);
}

void code_unless_quiet(struct code *c, const uint8_t *hit)
{
	enum { BOTH = RESTORE_RCX | UNCOUNT };
	uint8_t *awake, *on;

	step(c, LEAVE_BACK, BOTH, 0);
	move_data(c, false, RCX, &c->data->quiet);
	step(c, LEAVE_BACK, BOTH, 0);
	BYTES(c, 0xe3, 0); /* jrcxz awake */
	awake = c->at;
	step(c, LEAVE_BACK, BOTH, 0);
	BYTES(c, 0xeb, 0); /* jmp on */
	on = c->at;
	awake[-1] = (uint8_t)(c->at - awake);
	step(c, LEAVE_BACK, BOTH, 0);
	move_data(c, false, RCX, &c->data->skip);
	code_if_zero(c, hit, UNCOUNT);
	step(c, LEAVE_BACK, BOTH, 0);
	BYTES(c, 0x48, 0x8d, 0x49, 0xff); /* lea -1(%rcx), %rcx */
	step(c, LEAVE_BACK, BOTH, 0);
	move_data(c, true, RCX, &c->data->skip);
	on[-1] = (uint8_t)(c->at - on);
}

void code_leave(struct code *c, uint64_t gate)
{
	enum { BOTH = RESTORE_RCX | RESTORE_RAX };

	step(c, LEAVE_BACK, RESTORE_RCX | UNCOUNT, 0);
	move_data(c, true, RAX, &c->data->rax);
	step(c, LEAVE_BACK, BOTH | UNCOUNT, 0);
	BYTES(c, 0x48, 0x8d, 0x0d); /* lea data(%rip), %rcx */
	put_relative(c, (uint64_t)c->data, 0);
	step(c, LEAVE_BACK, BOTH | UNCOUNT, 0);
	load_constant(c, RAX, gate);
	step(c, LEAVE_BACK, BOTH | UNCOUNT, 0);
	BYTES(c, 0xff, 0x20); /* jmp *(%rax) */
}

void code_if_zero(struct code *c, const uint8_t *hit, uint8_t restore)
{
	ptrdiff_t d = hit - (c->at + 2);

	if (d < -128)
		c->failed = true;
	step(c, LEAVE_BACK, RESTORE_RCX | restore, 0);
	BYTES(c, 0xe3, (uint8_t)d); /* jrcxz */
}

void code_jump(struct code *c, const uint8_t *to, uint8_t restore)
{
	step(c, LEAVE_BACK, RESTORE_RCX | restore, 0);
	BYTES(c, 0xe9);
	put_relative(c, (uint64_t)to, 0);
}

void code_unless_zero(struct code *c, const uint8_t *miss)
{
	step(c, LEAVE_BACK, RESTORE_RCX, 0);
	BYTES(c, 0xe3, 5);
	code_jump(c, miss, 0);
}

void code_trap(struct code *c, uint8_t restore)
{
	step(c, LEAVE_BACK, restore, 0);
	BYTES(c, 0xcc);
}

/* ---- displaced instructions ---- */

/* Where a jump of the program to `target` must lead: to the copy of a displaced instruction. */
static uint64_t landing(const struct plan *p, uint64_t target)
{
	for (unsigned i = 1; i < p->n; i++)
		if (p->from[i] == target && p->copy[i])
			return p->copy[i];
	return target;
}

/* A jump to an upper address; once made, the program is at `target`. */
static void go(struct code *c, const struct plan *p, uint64_t target)
{
	uint64_t to = landing(p, target);

	step(c, LEAVE_TO, 0, target);
	if (fits32((int64_t)(to - ((uint64_t)c->at + 5)))) {
		BYTES(c, 0xe9);
		put_relative(c, to, 0);
	} else {
		BYTES(c, 0xff, 0x25, 0, 0, 0, 0); /* jmp *0(%rip) */
		put64(c, to);
	}
}

/* Pushes a return address like call, but stores it below the stack pointer first: before the lea nothing has
 * happened. */
static void push_return(struct code *c, uint64_t from, uint64_t value)
{
	step(c, LEAVE_TO, 0, from);
	BYTES(c, 0xc7, 0x44, 0x24, 0xf8); /* movl $low, -8(%rsp) */
	put32(c, (uint32_t)value);
	step(c, LEAVE_TO, 0, from);
	BYTES(c, 0xc7, 0x44, 0x24, 0xfc); /* movl $high, -4(%rsp) */
	put32(c, (uint32_t)(value >> 32));
	step(c, LEAVE_TO, 0, from);
	BYTES(c, 0x48, 0x8d, 0x64, 0x24, 0xf8); /* lea -8(%rsp), %rsp */
}

/* Copies the instruction's bytes from `first` on, with its displacement from rip adjusted. */
static void copy_bytes(struct code *c, const struct insn *in, uint64_t from, unsigned first)
{
	unsigned disp_at = in->op_at + 2u;

	if (!in->has_modrm || !in->rip_relative) {
		put(c, in->bytes + first, in->len - first);
		return;
	}
	put(c, in->bytes + first, disp_at - first);
	put_relative(c, from + in->len + (uint64_t)(int64_t)in->disp, in->len - disp_at - 4u);
	put(c, in->bytes + disp_at + 4, in->len - disp_at - 4u);
}

static void indirect_call(struct code *c, const struct insn *in, uint64_t from)
{
	step(c, LEAVE_TO, 0, from);
	move_data(c, true, RCX, &c->data->rcx);
	step(c, LEAVE_TO, RESTORE_RCX, from); /* mov operand, %rcx; its rcx is still the program's */
	if (in->segment)
		BYTES(c, in->segment);
	BYTES(c, (uint8_t)(0x48 | (in->rex & 3)), 0x8b, (uint8_t)((in->bytes[in->op_at + 1] & 0xc7) | RCX << 3));
	if (in->rip_relative)
		put_relative(c, from + in->len + (uint64_t)(int64_t)in->disp, 0);
	else
		put(c, in->bytes + in->op_at + 2, in->len - in->op_at - 2u);
	step(c, LEAVE_TO, RESTORE_RCX, from);
	move_data(c, true, RCX, &c->data->target);
	step(c, LEAVE_TO, RESTORE_RCX, from);
	move_data(c, false, RCX, &c->data->rcx);
	push_return(c, from, from + in->len);
	step(c, LEAVE_TARGET, 0, 0);
	BYTES(c, 0xff, 0x25); /* jmp *target(%rip) */
	put_relative(c, (uint64_t)&c->data->target, 0);
}

/* Both ways are jumps within reach of one byte; only the taken one may need a far jump. */
static void conditional(struct code *c, const struct plan *p, const struct insn *in, uint64_t from)
{
	uint64_t target = from + in->len + (uint64_t)in->imm, to = landing(p, target);
	bool loops = in->map == MAP_ONE && in->op >= 0xe0 && in->op <= 0xe3;
	uint8_t *skip;

	if (!loops && fits32((int64_t)(to - ((uint64_t)c->at + 6)))) {
		step(c, LEAVE_TO, 0, from);
		BYTES(c, 0x0f, (uint8_t)(0x80 | (in->op & 15)));
		put_relative(c, to, 0);
		return;
	}
	step(c, LEAVE_TO, 0, from);
	BYTES(c, loops ? in->op : (uint8_t)(0x70 | (in->op & 15)), 2);
	step(c, LEAVE_TO, 0, from + in->len);
	BYTES(c, 0xeb, 0);
	skip = c->at;
	go(c, p, target);
	skip[-1] = (uint8_t)(c->at - skip);
}

static void displaced(struct code *c, const struct plan *p, const struct insn *in, uint64_t from)
{
	bool one = in->jumps && in->map == MAP_ONE;

	if (one && (in->op == 0xe9 || in->op == 0xeb)) {
		go(c, p, from + in->len + (uint64_t)in->imm);
	} else if (one && in->op == 0xe8) {
		push_return(c, from, from + in->len);
		go(c, p, from + in->len + (uint64_t)in->imm);
	} else if (one && in->op == 0xff && (in->reg & 7) == 2) {
		indirect_call(c, in, from);
	} else if (in->jumps &&
		   (in->map == MAP_0F || (in->op >= 0x70 && in->op <= 0x7f) || (in->op >= 0xe0 && in->op <= 0xe3))) {
		conditional(c, p, in, from);
	} else { /* all other instructions, also return and indirect jump */
		step(c, LEAVE_TO, 0, from);
		copy_bytes(c, in, from, 0);
	}
}

void code_displaced(struct code *c, struct plan *p, uint8_t first)
{
	for (unsigned i = 0; i < p->n; i++) {
		const unsigned before = c->nsteps;

		p->copy[i] = (uint64_t)c->at;
		if (p->stops[i]) {
			step(c, LEAVE_TO, 0, p->from[i]);
			BYTES(c, 0xcc);
		}
		displaced(c, p, &p->in[i], p->from[i]);
		for (unsigned k = before; !i && k < c->nsteps; k++)
			if (c->steps[k].how == LEAVE_TO && c->steps[k].addr == p->pc)
				c->steps[k].restore |= first;
	}
	if (!p->ends)
		go(c, p, p->next);
}

void code_patch(uint8_t jump[PATCH], uint64_t pc, uint64_t entry)
{
	const int32_t distance = (int32_t)(entry - (pc + PATCH));

	jump[0] = 0xe9;
	memcpy(jump + 1, &distance, sizeof(distance));
}

bool code_left(const struct code *c, const struct plan *p, ucontext_t *uc)
{
	const uint64_t off = UC_PC(uc) - (uint64_t)c->start;

	for (unsigned i = 0; i < c->nsteps; i++) {
		const struct step *s = &c->steps[i];

		if (s->off != off)
			continue;
		if (s->restore & RESTORE_RCX)
			UC_REG(uc, RCX) = c->data->rcx;
		if (s->restore & RESTORE_RAX)
			UC_REG(uc, RAX) = c->data->rax;
		if (s->restore & UNCOUNT)
			c->data->left--;
		UC_PC(uc) = s->how == LEAVE_BACK ? p->pc : s->how == LEAVE_TO ? s->addr : c->data->target;
		return true;
	}
	return false;
}
