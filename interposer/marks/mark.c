#include "marks/mark.h"
#include <errno.h>
#include <string.h>
#include "arch/registers.h"
#include "base/crc32c.h"
#include "interface/layout.h"
#include "marks/mark_pages.h"
#include "space/arena.h"
#include "marks/mark_trace.h"
#include "text/registers.h"
#include "space/upper_memory.h"
#include "text/emulate.h"

static uint32_t vector_crc(const ucontext_t *uc)
{
	const void *vectors = uc_vectors(uc);

	return vectors ? crc32c(0, vectors, VECTORS_BYTES) : 0;
}

/* Clips [from, to) around `at` to what is mapped, by whole pages. */
static void clip(uint64_t at, uint64_t *from, uint64_t *to)
{
	uint64_t page = at & ~(RDB_PAGE - 1);

	if (*from < page && !upper_readable(*from, 1))
		*from = page;
	if (*to > page + RDB_PAGE && !upper_readable(*to - 1, 1))
		*to = page + RDB_PAGE;
	if (!upper_readable(at, 1))
		*to = *from;
}

/* Checksum of the stack further up: a recursive function may stand where it was before, except for frames far up. */
static uint32_t far_crc(const struct mark *m)
{
	uint64_t from = m->stack_from + m->stack_len, to = from;

	while (m->stack_len && to < from + MARK_STACK_FAR && upper_readable(to, 1))
		to = (to | (RDB_PAGE - 1)) + 1;
	return crc32c(1, (const void *)from, to - from) | 1; /* never 0 */
}

/* The text of a file that the program cannot write to is left out: it has patches of ours, and does not change. */
static void take_text(struct mark *m)
{
	uint64_t from = m->pc - MARK_TEXT_BEFORE, to = m->pc + MARK_TEXT_BEHIND;

	if (arena_file_at(m->pc) && !upper_writable(m->pc, 1))
		return;
	clip(m->pc, &from, &to);
	m->text_from = from;
	m->text_len = (uint32_t)(to - from);
	m->text_crc = crc32c(0, (const void *)from, m->text_len);
}

bool mark_text_here(const struct mark *m)
{
	uint8_t text[MARK_TEXT_BEFORE + MARK_TEXT_BEHIND];

	return upper_read(m->text_from, text, m->text_len) == m->text_len &&
	       crc32c(0, text, m->text_len) == m->text_crc;
}

static void fill(const ucontext_t *uc, struct mark *m)
{
	uint64_t sp = uc_sp(uc), from = sp - MARK_STACK_BELOW, to = sp + MARK_STACK_ABOVE;

	for (unsigned i = 0; i < GENERAL_REGISTERS; i++)
		m->gpr[i] = *uc_general(uc, i);
	m->pc = uc_pc(uc);
	m->flags = (UC_FLAGS(uc) & (MARK_FLAGS | MARK_UNSURE)) | MARK_UNSURE_KNOWN;
	for (unsigned i = 0; i < m->nvectors; i++)
		m->vector[i] = uc_vector_low(uc, m->vector_n[i]);
	clip(sp, &from, &to);
	m->stack_from = from;
	m->stack_len = (uint32_t)(to - from);
	memcpy(m->stack, (const void *)from, m->stack_len);
	m->far_crc = far_crc(m);
	m->vector_crc = vector_crc(uc);
	for (unsigned i = 0; i < m->nwords; i++)
		memcpy(&m->words[i].value, (const void *)m->words[i].addr, 8);
	mark_pages_take(m);
	take_text(m);
}

static int take_as(ucontext_t *uc, struct mark *m, const struct mark_wish *wish)
{
	int rc;

	memset(m, 0, sizeof(*m));
	upper_here();
	rc = mark_trace(uc, m, wish);
	if (rc >= 0)
		fill(uc, m);
	return rc;
}

int mark_take(ucontext_t *uc, struct mark *m, unsigned instructions)
{
	return take_as(uc, m, &(struct mark_wish){.instructions = instructions});
}

int mark_take_within(ucontext_t *uc, struct mark *m, unsigned instructions, const struct spin *spin)
{
	return take_as(uc, m, &(struct mark_wish){.instructions = instructions, .within = spin});
}

int mark_take_after(ucontext_t *uc, struct mark *m, unsigned instructions, const struct spin *after,
		    const struct spin *within, bool fresh)
{
	return take_as(
		uc, m,
		&(struct mark_wish){.instructions = instructions, .after = after, .within = within, .fresh = fresh});
}

static int64_t left;

void mark_count_begin(const struct mark *m)
{
	const bool counts = m && m->arrivals;

	left = counts ? -(int64_t)m->arrivals : 0;
	emulate_counted = (struct emulate_counted){counts ? m->pc : 0, &left};
}

void mark_count_to(int64_t *counter)
{
	const int64_t now = emulate_counted.left ? *emulate_counted.left : 0;

	emulate_counted.left = counter ? counter : &left;
	*emulate_counted.left = now;
}

uint64_t mark_counted_check(const ucontext_t *uc)
{
	const uint64_t flags = UC_FLAGS(uc) & MARK_FLAGS;
	uint32_t sum = crc32c(0, &flags, sizeof(flags));

	for (unsigned i = 0; i < GENERAL_REGISTERS; i++)
		sum = crc32c(sum, uc_general(uc, i), sizeof(uint64_t));
	return sum;
}

bool mark_registers_here(const struct mark *m, const ucontext_t *uc)
{
	if (m->arrivals)
		return uc_pc(uc) == m->pc && *emulate_counted.left == -1;
	if (uc_pc(uc) != m->pc || ((UC_FLAGS(uc) ^ m->flags) & MARK_FLAGS))
		return false;
	for (unsigned i = 0; i < GENERAL_REGISTERS; i++)
		if (*uc_general(uc, i) != m->gpr[i])
			return false;
	return true;
}

bool mark_here(const struct mark *m, const ucontext_t *uc)
{
	if (!mark_registers_here(m, uc))
		return false;
	if (m->arrivals)
		return true;
	for (unsigned i = 0; i < m->nwords; i++)
		if (!upper_readable(m->words[i].addr, 8) ||
		    memcmp((const void *)m->words[i].addr, &m->words[i].value, 8))
			return false;
	if (m->stack_len && (!upper_readable(m->stack_from, m->stack_len) ||
			     memcmp((const void *)m->stack_from, m->stack, m->stack_len)))
		return false;
	if (m->far_crc && far_crc(m) != m->far_crc)
		return false;
	return vector_crc(uc) == m->vector_crc && mark_pages_same(m);
}

void mark_arrived(const struct mark *m, ucontext_t *uc)
{
	if (!m->arrivals && m->flags & MARK_UNSURE_KNOWN)
		UC_FLAGS(uc) = (UC_FLAGS(uc) & ~(uint64_t)MARK_UNSURE) | (m->flags & MARK_UNSURE);
}

int mark_load(struct mark *m, const void *bytes, size_t len)
{
	if (len < offsetof(struct mark, words) || len > sizeof(*m))
		return -EINVAL;
	memset(m, 0, sizeof(*m));
	memcpy(m, bytes, len);
	if (m->nwords > MARK_WORDS || m->npages > MARK_PAGES || m->nvectors > MARK_VECTORS || mark_size(m) != len ||
	    !RDB_RUNS_UPPER(m->pc) || m->stack_len > sizeof(m->stack) ||
	    m->text_len > MARK_TEXT_BEFORE + MARK_TEXT_BEHIND)
		return -EINVAL;
	for (unsigned i = 0; i < m->nvectors; i++)
		if (m->vector_n[i] >= VECTORS)
			return -EINVAL;
	for (unsigned i = 0; i < m->nwords; i++)
		if (m->words[i].addr % 8)
			return -EINVAL;
	return 0;
}

int mark_load_counted(struct mark *m, const void *bytes, size_t len)
{
	struct mark_counted c;

	if (len != sizeof(c))
		return -EINVAL;
	memcpy(&c, bytes, len);
	memset(m, 0, sizeof(*m));
	m->pc = c.pc;
	m->arrivals = c.arrivals;
	m->check = c.check;
	return RDB_RUNS_UPPER(c.pc) && c.arrivals ? 0 : -EINVAL;
}
