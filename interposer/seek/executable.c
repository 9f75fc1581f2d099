#include "seek/executable.h"
#include <sys/mman.h>
#include "answer/made_text.h"
#include "seek/page_guard.h"
#include "seek/text_guard.h"
#include "space/arena.h"
#include "space/upper_memory.h"

enum { RANGES = 8 };

/* A query costs up to 0.1 ms (kernels without PROCMAP_QUERY). */
static struct {
	uint64_t start, end;
} known[RANGES];
static unsigned next;

bool executable(uint64_t pc)
{
	struct mapping m;
	char byte;
	int prot;

	for (unsigned i = 0; i < RANGES; i++)
		if (pc >= known[i].start && pc < known[i].end)
			return true;
	if (text_guard_open_protection(pc, &prot) || page_guard_open_protection(pc, &prot))
		return prot & PROT_EXEC || made_text_unrun(prot);
	if (!arena_mapping_at(pc, &m))
		return upper_read(pc, &byte, 1) == 1; /* our own text: the gate, stubs */
	if (m.prot & PROT_EXEC) {
		known[next].start = m.start;
		known[next].end = m.end;
		next = (next + 1) % RANGES;
	}
	return m.prot & PROT_EXEC || made_text_unrun(m.prot);
}

void executable_changed(uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < RANGES; i++)
		if (known[i].start < end && start < known[i].end)
			known[i].start = known[i].end = 0;
}
