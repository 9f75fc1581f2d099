#include "answer/made_text.h"
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include "arch/machine.h"
#include "arch/registers.h"
#include "crossing/boundary.h"
#include "answer/instructions.h"
#include "space/arena.h"
#include "space/shared_memory.h"
#include "space/cautions.h"

enum { BATCH = 512, ALL = PROT_READ | PROT_WRITE | PROT_EXEC };

int made_text_protection(int prot, bool own)
{
	if (own && !passing() && (prot & ALL) == ALL)
		return prot & ~(PROT_READ | PROT_EXEC);
	/* Executable memory can be read, as on a processor without protection keys (pkeys(7)), which the program is told
	 * that it has: rdb reads it, too. */
	return made_text_unrun(prot) || prot & PROT_EXEC ? prot | PROT_READ : prot;
}

struct stretch {
	uint64_t pc, start, end;
};

/* Finds the stretch of unrun text around pc.  Adjacent mappings count as one: how the kernel divides them differs from
 * run to run. */
static int find(const struct mapping *m, void *arg)
{
	struct stretch *s = arg;
	const bool one = made_text_unrun(m->prot);
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

/* Calls fn for each piece of text.  A page of zeros ends a piece, whether present or not.  A replica looks at all
 * pages: they may come from an image, and the page cache says nothing about their contents. */
static void each_text(uint64_t start, uint64_t end, void (*fn)(uint64_t start, uint64_t end))
{
	static unsigned char present[BATCH];
	const bool all = lower.started && replaying();
	uint64_t begun = 0;
	for (uint64_t from = start; from < end; from += BATCH * RDB_PAGE) {
		const uint64_t n = (end - from) / RDB_PAGE < BATCH ? (end - from) / RDB_PAGE : BATCH;
		if (!all && mincore((void *)from, n * RDB_PAGE, present))
			rdb_fatal("cannot tell which pages at %#lx are present: %s", (unsigned long)from,
				  strerror(errno));
		for (uint64_t i = 0; i < n; i++) {
			const uint64_t at = from + i * RDB_PAGE;
			const bool text = (all || present[i] & 1) && holds_something((const uint64_t *)at);
			if (text && !begun)
				begun = at;
			if (!text && begun) {
				fn(begun, at);
				begun = 0;
			}
		}
	}
	if (begun)
		fn(begun, end);
}

/* Text that was looked at can change, and is not looked at again: everything that can trap must trap. */
static bool changes;

static void unseen(void)
{
	changes = true;
	traps_counter();
	traps_identity();
}

void made_text_mapped(int prot, bool shared, bool file)
{
	if (!(prot & PROT_EXEC) || passing())
		return;
	if (shared)
		unseen();
	else if (file && prot & PROT_WRITE)
		traps_identity();
}

/* Is the memory private and of no file?  Only such text is patched: others may run the same text. */
static bool is_own(uint64_t start, uint64_t end)
{
	for (uint64_t at = start; at < end; at += RDB_PAGE)
		if (arena_file_at(at) || shared_at(at))
			return false;
	return true;
}

long made_text_protect(uint64_t start, uint64_t end, int prot)
{
	const bool own = prot & PROT_EXEC && !passing() && is_own(start, end);
	const bool looks = own && !(prot & PROT_WRITE);
	const int really = made_text_protection(prot, own);
	made_text_mapped(prot, shared_at(start), arena_file_at(start));
	long rc = raw_syscall(SYS_mprotect, (long)start, (long)(end - start), really, 0, 0, 0);
	if (!rc && looks)
		each_text(start, end, instructions_look_made);
	return rc;
}

bool made_text_fault(const ucontext_t *uc)
{
	struct stretch s = {.pc = UC_PC(uc)};
	if (!uc_fault_fetched(uc))
		return false;
	if (lower.started && replaying())
		lower.mode->asked(); /* the agent takes its patches out and restores protections */
	if (arena_each(find, &s) < 0 || s.pc < s.start || s.pc >= s.end)
		return false;
	each_text(s.start, s.end, instructions_look_made);
	unseen();
	if (mprotect((void *)s.start, s.end - s.start, ALL))
		rdb_fatal("memory at %#lx cannot be made executable: %s", (unsigned long)s.start, strerror(errno));
	if (lower.started && replaying())
		lower.mode->reprotected(s.start, s.end);
	return true;
}

static bool left;

static void look_again(uint64_t start, uint64_t end)
{
	left |= instructions_left((const uint8_t *)start, (const uint8_t *)end);
}

static int look_at(const struct mapping *m, void *arg)
{
	if (m->prot & PROT_EXEC && (m->prot & PROT_WRITE || m->shared))
		each_text(m->start, m->end, look_again);
	return 0;
}

void made_text_end(void)
{
	if (changes && recording() && arena_each(look_at, NULL) == 0 && left)
		caution("instructions that the program generated at run time include " INSTRUCTIONS_UNSEEN
			", whose results are not recorded");
}
