#include "seek/lookout.h"
#include <errno.h>
#include <string.h>
#include "seek/arrays.h"
#include "text/registers.h"
#include "space/upper_memory.h"
#include "base/guarded_copy.h"

#define MOST ((AGENT_PACKET - sizeof(struct agent_reply)) / sizeof(struct agent_seen))
#define REGISTERS (sizeof(struct agent_gpr) / sizeof(uint64_t))

static struct {
	bool on;
	struct agent_lookout set[AGENT_LOOKOUTS];
	uint32_t sets, last; /* last: the set that matched last */
	uint64_t checked;
	struct agent_seen now; /* noted last */
	unsigned n;
	struct agent_seen list[MOST];
} l;

int lookout_set(uint64_t number, const struct agent_lookout *wanted)
{
	uint64_t len = 0;

	if (number >= AGENT_LOOKOUTS || wanted->ranges > AGENT_RANGES || wanted->folds > AGENT_FOLDS)
		return -EINVAL;
	for (uint32_t i = 0; i < wanted->ranges; i++) {
		if (wanted->range[i].len > sizeof(wanted->bytes) - len)
			return -EINVAL;
		len += wanted->range[i].len;
	}
	memcpy(&l.set[number], wanted, sizeof(*wanted));
	return 0;
}

void lookout_begin(uint64_t event, uint64_t sets)
{
	l.on = true;
	l.sets = sets < AGENT_LOOKOUTS ? (uint32_t)sets : AGENT_LOOKOUTS;
	l.n = l.last = 0;
	l.checked = event;
	l.now.set = UINT32_MAX;
}

void lookout_end(void)
{
	l.on = false;
}

bool lookout_wanted(void)
{
	return l.on;
}

struct comparing {
	const struct agent_lookout *set;
	bool same;
};

static void compare(void *arg)
{
	struct comparing *c = arg;
	const uint8_t *as_it_was = c->set->bytes;

	c->same = true;
	for (uint32_t i = 0; i < c->set->ranges && c->same; i++) {
		const struct agent_range *range = &c->set->range[i];
		c->same = !memcmp((const void *)range->addr, as_it_was, range->len);
		as_it_was += range->len;
	}
}

static bool same_bytes(const struct agent_lookout *set)
{
	static uint8_t now[AGENT_LOOKOUT_BYTES];
	struct comparing c = {.set = set};
	uint64_t len = 0;

	if (guarded_call(compare, &c))
		return c.same;
	for (uint32_t i = 0; i < set->ranges; i++) { /* upper_read() also reads protected pages */
		const struct agent_range *range = &set->range[i];
		if (upper_read(range->addr, now + len, range->len) != range->len)
			return false;
		len += range->len;
	}
	return !memcmp(now, set->bytes, len);
}

static bool same_registers(const struct agent_lookout *set, const struct agent_gpr *gpr)
{
	uint64_t was[REGISTERS], is[REGISTERS];

	if (!set->registers)
		return true;
	memcpy(was, &set->gpr, sizeof(was));
	memcpy(is, gpr, sizeof(is));
	for (unsigned i = 0; i < REGISTERS; i++)
		if ((set->registers >> i & 1) && was[i] != is[i])
			return false;
	return true;
}

/* Calls that alternate match consecutive sets: the search begins after the last match. */
static uint32_t find(const ucontext_t *uc)
{
	struct agent_gpr gpr;

	registers_get(uc, &gpr);
	for (uint32_t i = 1; i <= l.sets; i++) {
		uint32_t at = (l.last + i) % l.sets;
		if (same_registers(&l.set[at], &gpr) && same_bytes(&l.set[at]))
			return at;
	}
	return UINT32_MAX;
}

enum lookout lookout_event(uint64_t event, const ucontext_t *uc)
{
	struct agent_seen now = {.event = event};
	uint32_t at = find(uc);

	if (at == UINT32_MAX)
		return LOOKOUT_OTHER;
	l.last = now.set = at;
	for (uint32_t i = 0; i < l.set[at].folds; i++) {
		struct agent_array_found found;
		if (arrays_fold(&l.set[at].fold[i], &found)) {
			now.refused |= 1u << i;
			now.value[i].addr = found.index;
			continue;
		}
		now.value[i].high = found.high;
		now.value[i].low = found.low;
		now.value[i].index = found.index;
	}
	l.checked = event;
	l.now.event = event;
	if (!memcmp(&now, &l.now, sizeof(now)))
		return LOOKOUT_SAME;
	l.now = l.list[l.n] = now;
	return ++l.n == MOST ? LOOKOUT_FULL : LOOKOUT_SAME;
}

unsigned lookout_seen(const struct agent_seen **list, uint64_t *checked)
{
	*list = l.list;
	*checked = l.checked;
	return l.n;
}
