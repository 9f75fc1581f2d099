#include "seek/changes.h"
#include <errno.h>
#include "space/upper_memory.h"

#define MOST ((AGENT_PACKET - sizeof(struct agent_reply)) / sizeof(struct agent_change))

static struct {
	bool wanted;
	uint64_t addr, len, most;
	unsigned n;
	struct agent_change list[MOST];
} c;

int changes_begin(uint64_t addr, uint64_t len, uint64_t most)
{
	if (len > sizeof(c.list[0].bytes) || !most)
		return -EINVAL;
	c.wanted = true;
	c.addr = addr;
	c.len = len;
	c.most = most < MOST ? most : MOST;
	c.n = 0;
	return 0;
}

void changes_end(void)
{
	c.wanted = false;
}

bool changes_wanted(void)
{
	return c.wanted;
}

bool changes_add(uint64_t event, uint64_t pc, bool by_event)
{
	struct agent_change *to;

	if (c.n == c.most)
		return true;
	to = &c.list[c.n++];
	*to = (struct agent_change){.event = event, .pc = pc, .by_event = by_event};
	to->len = upper_read(c.addr, to->bytes, c.len);
	return c.n == c.most;
}

unsigned changes(const struct agent_change **list)
{
	*list = c.list;
	return c.n;
}
