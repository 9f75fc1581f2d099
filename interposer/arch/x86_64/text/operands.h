/* Operands of an instruction on a saved context: registers, memory, the operand of ModRM, flags.  A function that may
 * not (when only looking) or cannot access its operand returns false and has changed nothing. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>
#include "text/registers.h"
#include "space/upper_memory.h"
#include "arch/x86_64/text/alu.h"
#include "arch/insn.h"
#include "text/emulate.h"

struct work {
	ucontext_t *uc;
	greg_t *g;
	const struct insn *in;
	struct emulated *out;
	bool only_look;
	uint64_t addr; /* address of the memory operand */
};

static inline void touches(struct work *w, uint64_t addr, uint64_t len, bool write)
{
	if (w->out->naccess < 4)
		w->out->access[w->out->naccess++] = (struct access){addr, len, write};
}

static inline uint64_t *reg_at(struct work *w, uint8_t n)
{
	return (uint64_t *)&w->g[registers_greg[n]];
}

/* ah, ch, dh, bh: byte registers 4-7 without REX */
static inline bool high_byte(const struct work *w, uint8_t n, unsigned size)
{
	return size == 1 && !w->in->rex && n >= 4 && n < 8;
}

static inline uint64_t reg_read(struct work *w, uint8_t n, unsigned size)
{
	if (high_byte(w, n, size))
		return *reg_at(w, n - 4) >> 8 & 0xff;
	return *reg_at(w, n) & alu_mask(size);
}

static inline void reg_write(struct work *w, uint8_t n, unsigned size, uint64_t v)
{
	uint64_t *r;

	if (high_byte(w, n, size)) {
		r = reg_at(w, n - 4);
		*r = (*r & ~0xff00ull) | (v & 0xff) << 8;
		return;
	}
	r = reg_at(w, n);
	if (size == 8)
		*r = v;
	else if (size == 4)
		*r = v & UINT32_MAX; /* zero-extends */
	else
		*r = (*r & ~alu_mask(size)) | (v & alu_mask(size));
}

static inline bool load(struct work *w, uint64_t addr, unsigned size, uint64_t *v)
{
	touches(w, addr, size, false);
	*v = 0;
	if (w->only_look || !upper_readable(addr, size))
		return false;
	/* a single access, like the instruction's: other processes may share the memory */
	switch (size) {
	case 1: *v = *(const volatile uint8_t *)addr; break;
	case 2: *v = *(const volatile uint16_t *)addr; break;
	case 4: *v = *(const volatile uint32_t *)addr; break;
	default: *v = *(const volatile uint64_t *)addr; break;
	}
	return true;
}

static inline bool can_store(struct work *w, uint64_t addr, unsigned size)
{
	touches(w, addr, size, true);
	if (w->only_look || !upper_writable(addr, size))
		return false;
	if (emulate_before_store)
		emulate_before_store(addr, size);
	return true;
}

static inline void store(uint64_t addr, unsigned size, uint64_t v)
{
	switch (size) {
	case 1: *(volatile uint8_t *)addr = (uint8_t)v; break;
	case 2: *(volatile uint16_t *)addr = (uint16_t)v; break;
	case 4: *(volatile uint32_t *)addr = (uint32_t)v; break;
	default: *(volatile uint64_t *)addr = v; break;
	}
}

/* The operand in the rm field of ModRM. */
static inline bool rm_read(struct work *w, unsigned size, uint64_t *v)
{
	if (w->in->memory)
		return load(w, w->addr, size, v);
	*v = reg_read(w, w->in->rm, size);
	return !w->only_look;
}

static inline bool rm_can_write(struct work *w, unsigned size)
{
	return w->in->memory ? can_store(w, w->addr, size) : !w->only_look;
}

static inline void rm_write(struct work *w, unsigned size, uint64_t v)
{
	if (w->in->memory)
		store(w->addr, size, v);
	else
		reg_write(w, w->in->rm, size, v);
}

static inline uint64_t flags(const struct work *w)
{
	return (uint64_t)w->g[REG_EFL];
}

static inline void set_flags(struct work *w, uint64_t f)
{
	w->g[REG_EFL] = (greg_t)((flags(w) & ~ALU_FLAGS) | (f & ALU_FLAGS));
}
