#include "instructions/made_text.h"
#include <errno.h>
#include <string.h>
#include "boundary/boundary.h"
#include "instructions/cpuid_events.h"
#include "memory/arena.h"
#include "replay/replica.h"

enum {
	BATCH = 512,
	ALL = PROT_READ | PROT_WRITE | PROT_EXEC,
	FETCH = 16 /* of the error code: Intel SDM vol. 3, 4.7 */
};

int made_text_protection(int prot, bool own)
{
	if (own && lower.mode != MODE_PASS && (prot & ALL) == ALL)
		return prot & ~(PROT_READ | PROT_EXEC);
	return made_text_unrun(prot) ? prot | PROT_READ : prot;
}

struct stretch {
	uint64_t pc, start, end;
};

/* Mappings side by side count as one: how the kernel has divided it differs from run to run. */
static int find(const struct mapping *m, void *arg)
{
	struct stretch *s = arg;
	const bool one = made_text_unrun(m->prot) && m->anonymous && !m->shared;
	if (one && m->start == s->end) {
		s->end = m->end;
		return 0;
	}
	if (s->pc >= s->start && s->pc < s->end)
		return 1;
	if (one) {
		s->start = m->start;
		s->end = m->end;
	}
	return 0;
}

static bool holds_something(const uint64_t *page)
{
	for (unsigned i = 0; i < RDB_PAGE / 8; i++)
		if (page[i])
			return true;
	return false;
}

/* Pages of zeros end a piece, be they present or not. */
static void look(uint64_t start, uint64_t end)
{
	static unsigned char present[BATCH];
	uint64_t begun = 0;
	for (uint64_t from = start; from < end; from += BATCH * RDB_PAGE) {
		const uint64_t n = (end - from) / RDB_PAGE < BATCH ? (end - from) / RDB_PAGE : BATCH;
		if (mincore((void *)from, n * RDB_PAGE, present))
			rdb_fatal("cannot tell which memory at %#lx is there: %s", (unsigned long)from,
				  strerror(errno));
		for (uint64_t i = 0; i < n; i++) {
			const uint64_t at = from + i * RDB_PAGE;
			const bool text = (present[i] & 1) && holds_something((const uint64_t *)at);
			if (text && !begun)
				begun = at;
			if (!text && begun) {
				cpuid_look((uint8_t *)begun, (uint8_t *)at);
				begun = 0;
			}
		}
	}
	if (begun)
		cpuid_look((uint8_t *)begun, (uint8_t *)end);
}

bool made_text_fault(const ucontext_t *uc)
{
	struct stretch s = {.pc = (uint64_t)uc->uc_mcontext.gregs[REG_RIP]};
	if (!(uc->uc_mcontext.gregs[REG_ERR] & FETCH))
		return false;
	if (lower.started && replaying())
		agent_asked(); /* takes its patches out, and what it protects is as it was */
	if (arena_each(find, &s) < 0 || s.pc < s.start || s.pc >= s.end)
		return false;
	look(s.start, s.end);
	if (mprotect((void *)s.start, s.end - s.start, ALL))
		rdb_fatal("memory at %#lx cannot be run: %s", (unsigned long)s.start, strerror(errno));
	if (lower.started && replaying())
		agent_reprotected(s.start, s.end);
	return true;
}
