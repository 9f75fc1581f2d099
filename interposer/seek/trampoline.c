#include "seek/trampoline.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "arch/registers.h"
#include "seek/breakpoints.h"
#include "text/registers.h"
#include "arch/trampoline_code.h"
#include "seek/trampoline_place.h"
#include "space/patches.h"
#include "space/upper_memory.h"

static struct {
	bool armed, counting, lifted;
	struct plan plan;
	struct trampoline_place place;
	struct code code;
	uint64_t trap; /* pc after the breakpoint */
	uint64_t n, faults;
	uint8_t original[PATCH];
} t;

static struct trampoline_data *data(void)
{
	return (struct trampoline_data *)t.place.map;
}

static void compare_registers(struct code *c, const struct mark *m, uint16_t which, unsigned *i)
{
	for (unsigned r = 0; r < GENERAL_REGISTERS; r++)
		if ((which >> r & 1) && (*i)-- == 0)
			code_compare_register(c, r, m->gpr[r]);
}

/* Writes the i-th comparison of a mark, the most telling first: one is enough for nearly every arrival. */
static void comparison(struct code *c, const struct mark *m, unsigned i)
{
	uint16_t varies = m->varies & (uint16_t) ~(1u << STACK_POINTER); /* it varies in recursion, not in loops */
	unsigned registers = (unsigned)__builtin_popcount(varies);

	if (i < registers) {
		compare_registers(c, m, varies, &i);
		return;
	}
	i -= registers;
	if (i < m->nvectors) {
		code_compare_vector(c, m->vector_n[i], m->vector[i]);
		return;
	}
	i -= m->nvectors;
	if (i < m->nwords) {
		code_compare_word(c, m->words[i].addr, m->words[i].value);
		return;
	}
	i -= m->nwords;
	compare_registers(c, m, (uint16_t)~varies, &i);
}

static void write_code(const struct mark *m)
{
	struct code *c = &t.code;
	uint8_t *entry = (uint8_t *)t.place.entry, *stub = entry - PATCH, *miss;

	*c = (struct code){.start = stub, .at = entry, .end = entry + CODE_ROOM, .data = data()};
	code_begin(c);
	if (m)
		comparison(c, m, 0);
	else
		code_count(c);
	code_if_zero(c, stub, m ? 0 : UNCOUNT);
	miss = c->at;
	code_restore(c, m ? 0 : UNCOUNT);
	code_displaced(c, &t.plan, m ? 0 : UNCOUNT);
	{ /* the stub, within reach of jrcxz */
		uint8_t *slow = c->at;

		c->at = stub;
		code_jump(c, slow, m ? 0 : UNCOUNT);
		c->at = slow;
	}
	for (unsigned i = 1; m && i < GENERAL_REGISTERS + m->nvectors + m->nwords; i++) {
		comparison(c, m, i);
		code_unless_zero(c, miss);
	}
	code_restore(c, m ? 0 : UNCOUNT);
	code_trap(c, m ? 0 : UNCOUNT);
	t.trap = (uint64_t)c->at;
}

/* Breakpoints within the patch: takes out their int3s, or puts them where the program meets them now. */
static void move_breakpoints(bool in)
{
	for (unsigned i = 1; i < t.plan.n; i++) {
		struct place *p = t.plan.stops[i] ? breakpoints_at(t.plan.from[i]) : NULL;

		if (p && in)
			breakpoint_insert(p);
		else if (p)
			breakpoint_remove(p);
	}
}

/* -ENOTSUP: a breakpoint at the place itself needs an int3, or one lies inside an instruction. */
static int plan_breakpoints(bool counting)
{
	const struct place *first = breakpoints_at(t.plan.pc);

	if (first && first->used && (!counting || first->inserted))
		return -ENOTSUP;
	for (unsigned i = 0; i < t.plan.n; i++)
		for (unsigned at = 0; at < t.plan.in[i].len; at++) {
			const struct place *p = breakpoints_at(t.plan.from[i] + at);

			if (!p || !p->used || (!i && !at))
				continue;
			if (at)
				return -ENOTSUP;
			t.plan.stops[i] = true;
		}
	return 0;
}

static void write_jump(void)
{
	uint8_t jump[PATCH];

	code_patch(jump, t.plan.pc, t.place.entry);
	t.armed = upper_write(t.plan.pc, jump, PATCH) == PATCH;
	if (t.armed)
		patch_add(PATCH_TRAMPOLINE, t.plan.pc, PATCH, t.original, jump);
	else
		upper_write(t.plan.pc, t.original, PATCH);
}

static void take_out(void)
{
	upper_write(t.plan.pc, t.original, PATCH);
	patch_drop(PATCH_TRAMPOLINE, t.plan.pc);
}

static void unmap(void)
{
	munmap((void *)t.place.map, t.place.len);
	patch_code.len = 0;
}

static int arm(uint64_t pc, const struct mark *m, uint64_t n)
{
	int rc = t.armed ? -EBUSY : upper_ready();

	if (!rc)
		rc = plan_make(pc, &t.plan);
	if (!rc)
		rc = plan_breakpoints(!m);
	for (unsigned i = 0; !rc && m && i < m->nwords; i++)
		if (!upper_readable(m->words[i].addr, 8))
			rc = -ENOTSUP;
	if (!rc)
		rc = trampoline_map(&t.plan, &t.place);
	if (rc)
		return rc;
	patch_code = (struct patch_code){t.place.map, t.place.len};
	move_breakpoints(false);
	t.lifted = false;
	rc = upper_read(pc, t.original, PATCH) == PATCH ? 0 : -ENOTSUP;
	*data() = (struct trampoline_data){.left = -(int64_t)n};
	write_code(m);
	if (t.code.failed)
		rc = -ENOTSUP;
	if (!rc)
		write_jump();
	if (!rc && !t.armed)
		rc = -EIO;
	move_breakpoints(true);
	if (rc) {
		unmap();
		return rc;
	}
	t.counting = !m;
	t.n = n;
	t.faults = 0;
	return 0;
}

int trampoline_arm(const struct mark *m)
{
	return arm(m->pc, m, 0);
}

int trampoline_arm_count(uint64_t pc, uint64_t n)
{
	return n ? arm(pc, NULL, n) : -EINVAL;
}

bool trampoline_armed(void)
{
	return t.armed;
}

bool trampoline_at(uint64_t pc)
{
	return t.armed && t.plan.pc == pc;
}

uint64_t trampoline_count(void)
{
	return t.armed && t.counting ? t.n + (uint64_t)data()->left : 0;
}

int64_t *trampoline_left(void)
{
	return &data()->left;
}

void trampoline_disarm(void)
{
	if (!t.armed)
		return;
	if (upper_ready() == 0 && !t.lifted)
		take_out();
	unmap();
	move_breakpoints(false);
	t.armed = false;
	move_breakpoints(true);
}

void trampoline_lift(void)
{
	if (!t.armed || t.lifted)
		return;
	move_breakpoints(false);
	take_out();
	t.lifted = true;
}

void trampoline_lower(void)
{
	if (!t.armed || !t.lifted)
		return;
	t.lifted = false;
	write_jump();
	move_breakpoints(true);
}

bool trampoline_carries(uint64_t addr)
{
	for (unsigned i = 1; t.armed && !t.lifted && i < t.plan.n; i++)
		if (t.plan.stops[i] && t.plan.from[i] == addr)
			return true;
	return false;
}

bool trampoline_stop(ucontext_t *uc)
{
	for (unsigned i = 1; t.armed && i < t.plan.n; i++)
		if (t.plan.stops[i] && uc_pc(uc) == t.plan.copy[i] + BREAKPOINT_PASSED) {
			UC_PC(uc) = t.plan.from[i];
			return true;
		}
	return false;
}

bool trampoline_trap(ucontext_t *uc)
{
	if (!t.armed || uc_pc(uc) != t.trap)
		return false;
	UC_PC(uc) = t.plan.pc;
	return true;
}

void trampoline_resume(ucontext_t *uc)
{
	UC_PC(uc) = t.plan.copy[0];
}

bool trampoline_fault(ucontext_t *uc)
{
	if (!t.armed)
		return false;
	for (unsigned i = 1; i < t.plan.n; i++)
		if (t.plan.from[i] == uc_pc(uc) && t.plan.from[i] < t.plan.pc + PATCH) {
			UC_PC(uc) = t.plan.copy[i];
			t.faults++;
			return true;
		}
	return false;
}

uint64_t trampoline_faults(void)
{
	return t.faults;
}

bool trampoline_inside(const ucontext_t *uc)
{
	return t.armed && uc_pc(uc) - t.place.map < t.place.len;
}

void trampoline_leave(ucontext_t *uc)
{
	if (trampoline_inside(uc) && !trampoline_trap(uc))
		code_left(&t.code, &t.plan, uc);
}
