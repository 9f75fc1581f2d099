#include "seek/undo_log.h"
#include <string.h>
#include "text/emulate.h"
#include "space/aliases.h"

#define ENTRIES AGENT_TRACED /* an instruction seldom stores more than once */

struct written {
	uint64_t step, addr, len;
	uint8_t before[32];
};

static struct {
	uint64_t step, first, used;
	struct written ring[ENTRIES];
} u = {.first = UINT64_MAX};

static void before_store(uint64_t addr, uint64_t len)
{
	struct written *e = &u.ring[u.used % ENTRIES];

	if (u.used >= ENTRIES && e->step >= u.first)
		u.first = e->step + 1;
	if (len > sizeof(e->before) || aliases_of(addr, len)) {
		undo_log_unknown(u.step);
		return;
	}
	*e = (struct written){.step = u.step, .addr = addr, .len = len};
	memcpy(e->before, (const void *)addr, len);
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

uint64_t undo_log_first(void)
{
	return u.first;
}

void undo_log_apply(uint64_t step, uint64_t addr, uint8_t *bytes, uint64_t len)
{
	uint64_t oldest = u.used < ENTRIES ? 0 : u.used - ENTRIES;

	for (uint64_t n = u.used; n-- > oldest;) {
		const struct written *e = &u.ring[n % ENTRIES];
		uint64_t from = e->addr > addr ? e->addr : addr;
		uint64_t to = e->addr + e->len < addr + len ? e->addr + e->len : addr + len;

		if (e->step < step)
			return;
		if (from < to)
			memcpy(bytes + (from - addr), e->before + (from - e->addr), to - from);
	}
}
