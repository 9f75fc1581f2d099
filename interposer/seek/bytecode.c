#include "seek/bytecode.h"
#include <string.h>
#include "text/registers.h"
#include "space/upper_memory.h"

#define STACK 64
#define MAX_STEPS 100000

enum {
	OP_ADD = 0x02,
	OP_SUB,
	OP_MUL,
	OP_DIV_SIGNED,
	OP_DIV_UNSIGNED,
	OP_REM_SIGNED,
	OP_REM_UNSIGNED,
	OP_LSH,
	OP_RSH_SIGNED,
	OP_RSH_UNSIGNED,
	OP_LOG_NOT = 0x0e,
	OP_BIT_AND,
	OP_BIT_OR,
	OP_BIT_XOR,
	OP_BIT_NOT,
	OP_EQUAL,
	OP_LESS_SIGNED,
	OP_LESS_UNSIGNED,
	OP_EXT,
	OP_REF8,
	OP_REF16,
	OP_REF32,
	OP_REF64,
	OP_IF_GOTO = 0x20,
	OP_GOTO,
	OP_CONST8,
	OP_CONST16,
	OP_CONST32,
	OP_CONST64,
	OP_REG,
	OP_END,
	OP_DUP,
	OP_POP,
	OP_ZERO_EXT,
	OP_SWAP,
	OP_PICK = 0x32,
	OP_ROT,
};

struct machine {
	const uint8_t *code;
	size_t len, pc;
	uint64_t stack[STACK];
	unsigned depth;
	const ucontext_t *uc;
};

static bool operand(struct machine *m, unsigned bytes, uint64_t *value)
{
	if (m->len - m->pc < bytes)
		return false;
	*value = 0;
	while (bytes--)
		*value = *value << 8 | m->code[m->pc++]; /* operands are big-endian */
	return true;
}

static bool push(struct machine *m, uint64_t value)
{
	if (m->depth == STACK)
		return false;
	m->stack[m->depth++] = value;
	return true;
}

static bool reg(const ucontext_t *uc, uint64_t number, uint64_t *value)
{
	struct agent_gpr gpr;

	registers_get(uc, &gpr);
	return registers_number(&gpr, number, value);
}

static bool binary(struct machine *m, uint8_t op)
{
	uint64_t b, a, r;

	if (m->depth < 2)
		return false;
	b = m->stack[--m->depth];
	a = m->stack[m->depth - 1];
	switch (op) {
	case OP_ADD: r = a + b; break;
	case OP_SUB: r = a - b; break;
	case OP_MUL: r = a * b; break;
	case OP_DIV_SIGNED:
	case OP_REM_SIGNED:
		if (b == 0)
			return false;
		if (b == UINT64_MAX) /* INT64_MIN / -1 traps */
			r = op == OP_DIV_SIGNED ? -a : 0;
		else if (op == OP_DIV_SIGNED)
			r = (uint64_t)((int64_t)a / (int64_t)b);
		else
			r = (uint64_t)((int64_t)a % (int64_t)b);
		break;
	case OP_DIV_UNSIGNED:
	case OP_REM_UNSIGNED:
		if (b == 0)
			return false;
		r = op == OP_DIV_UNSIGNED ? a / b : a % b;
		break;
	case OP_LSH: r = b < 64 ? a << b : 0; break;
	case OP_RSH_SIGNED: r = (uint64_t)((int64_t)a >> (b < 64 ? b : 63)); break;
	case OP_RSH_UNSIGNED: r = b < 64 ? a >> b : 0; break;
	case OP_BIT_AND: r = a & b; break;
	case OP_BIT_OR: r = a | b; break;
	case OP_BIT_XOR: r = a ^ b; break;
	case OP_EQUAL: r = a == b; break;
	case OP_LESS_SIGNED: r = (int64_t)a < (int64_t)b; break;
	default: r = a < b; break; /* OP_LESS_UNSIGNED */
	}
	m->stack[m->depth - 1] = r;
	return true;
}

static bool deref(struct machine *m, size_t bytes)
{
	uint64_t value = 0;

	if (!m->depth)
		return false;
	if (upper_readable(m->stack[m->depth - 1], bytes))
		memcpy(&value, (const void *)m->stack[m->depth - 1], bytes);
	else if (upper_read(m->stack[m->depth - 1], &value, bytes) != bytes)
		return false;
	m->stack[m->depth - 1] = value;
	return true;
}

static bool extend(struct machine *m, uint64_t bits, bool sign)
{
	uint64_t *top = &m->stack[m->depth - 1];

	if (!m->depth || bits == 0)
		return false;
	if (bits >= 64)
		return true;
	*top = sign ? (uint64_t)((int64_t)(*top << (64 - bits)) >> (64 - bits)) : *top & ((1ull << bits) - 1);
	return true;
}

/* 1: go on, 0: end, -1: malformed, a division by zero, memory that is not there, or an operator that conditions do not
 * have. */
static int step(struct machine *m)
{
	uint8_t op = m->code[m->pc++];
	uint64_t x = 0, y;
	bool ok = true;

	switch (op) {
	case OP_ADD ... OP_RSH_UNSIGNED:
	case OP_BIT_AND ... OP_BIT_XOR:
	case OP_EQUAL ... OP_LESS_UNSIGNED: ok = binary(m, op); break;
	case OP_LOG_NOT:
	case OP_BIT_NOT:
		if (!m->depth)
			return -1;
		y = m->stack[m->depth - 1];
		m->stack[m->depth - 1] = op == OP_LOG_NOT ? !y : ~y;
		return 1;
	case OP_EXT: ok = operand(m, 1, &x) && extend(m, x, true); break;
	case OP_ZERO_EXT: ok = operand(m, 1, &x) && extend(m, x, false); break;
	case OP_REF8 ... OP_REF64: ok = deref(m, 1u << (op - OP_REF8)); break;
	case OP_IF_GOTO:
		ok = operand(m, 2, &x) && m->depth;
		if (ok && m->stack[--m->depth])
			m->pc = x;
		break;
	case OP_GOTO:
		ok = operand(m, 2, &x);
		m->pc = ok ? x : m->pc;
		break;
	case OP_CONST8 ... OP_CONST64: ok = operand(m, 1u << (op - OP_CONST8), &x) && push(m, x); break;
	case OP_REG: ok = operand(m, 2, &x) && reg(m->uc, x, &y) && push(m, y); break;
	case OP_END: return 0;
	case OP_DUP: ok = m->depth && push(m, m->stack[m->depth - 1]); break;
	case OP_POP:
		ok = m->depth;
		m->depth -= ok;
		break;
	case OP_PICK: ok = operand(m, 1, &x) && x < m->depth && push(m, m->stack[m->depth - 1 - x]); break;
	case OP_SWAP:
		if (m->depth < 2)
			return -1;
		x = m->stack[m->depth - 1];
		m->stack[m->depth - 1] = m->stack[m->depth - 2];
		m->stack[m->depth - 2] = x;
		return 1;
	case OP_ROT: /* a b c => c a b */
		if (m->depth < 3)
			return -1;
		x = m->stack[m->depth - 1];
		m->stack[m->depth - 1] = m->stack[m->depth - 2];
		m->stack[m->depth - 2] = m->stack[m->depth - 3];
		m->stack[m->depth - 3] = x;
		return 1;
	default: /* floating point, tracing, state variables, printf */ return -1;
	}
	return ok ? 1 : -1;
}

bool bytecode_holds(const uint8_t *code, size_t len, const ucontext_t *uc)
{
	struct machine m = {.code = code, .len = len, .uc = uc};

	for (unsigned i = 0; i < MAX_STEPS && m.pc < len; i++) {
		const int going = step(&m);
		if (going < 0)
			return true;
		if (going == 0)
			return !m.depth || m.stack[m.depth - 1];
	}
	return true;
}
