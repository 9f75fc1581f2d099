#include "agent/undo_log.h"
#include <string.h>
#include "instructions/emulate.h"

#define ENTRIES AGENT_TRACED /* an instruction seldom stores more than once */

static struct {
	uint64_t step, first, used;
	struct agent_undo ring[ENTRIES];
} u = {.first = UINT64_MAX};

static void before_store(uint64_t addr, uint64_t len)
{
	struct agent_undo *e = &u.ring[u.used % ENTRIES];

	if (u.used >= ENTRIES && e->step >= u.first)
		u.first = e->step + 1;
	if (len > sizeof(e->bytes)) {
		undo_log_unknown(u.step);
		return;
	}
	*e = (struct agent_undo){.step = u.step, .addr = addr, .len = len};
	memcpy(e->bytes, (const void *)addr, len);
	u.used++;
}

void undo_log_begin(bool keep)
{
	u.step = u.used = 0;
	u.first = keep ? 0 : UINT64_MAX;
	emulate_before_store = keep ? before_store : NULL;
}

void undo_log_step(uint64_t step)
{
	u.step = step;
}

void undo_log_unknown(uint64_t step)
{
	if (u.first <= step)
		u.first = step + 1;
}

void undo_log_end(void)
{
	emulate_before_store = NULL;
}

uint64_t undo_log(const struct agent_undo *part[2], unsigned count[2])
{
	uint64_t n = u.used < ENTRIES ? u.used : ENTRIES, oldest = u.used < ENTRIES ? 0 : u.used % ENTRIES;

	part[0] = u.ring + oldest;
	count[0] = (unsigned)(n < ENTRIES - oldest ? n : ENTRIES - oldest);
	part[1] = u.ring;
	count[1] = (unsigned)n - count[0];
	return u.first;
}
