#include "log/pieces.h"
#include <stdbool.h>
#include "base/monotonic.h"

static const size_t sizes[] = {64 << 10, PIECE_SMALLEST, 128 << 10, PIECE_LARGEST};
enum { SIZES = sizeof(sizes) / sizeof(*sizes), WAIT_MAX = 63 };

static struct {
	uint64_t ns[SIZES];                  /* of a MiB, the latest write counting most; 0: not tried yet */
	unsigned wait[SIZES], waited[SIZES]; /* a size that was dear is passed over, so many times */
	unsigned next;                       /* to be tried */
	bool due;
} cost;

static unsigned cheapest(void)
{
	unsigned best = 0;
	for (unsigned i = 1; i < SIZES; i++)
		if (cost.ns[i] && cost.ns[i] < cost.ns[best])
			best = i;
	return best;
}

void pieces_try(void)
{
	cost.due = true;
}

void pieces_begin(struct pieces *p, size_t bytes)
{
	const unsigned next = (cost.next + 1) % SIZES;
	p->way = cheapest();
	if (cost.due && cost.ns[0] && bytes >= sizes[next]) {
		cost.next = next;
		cost.due = false;
		if (cost.waited[next] >= cost.wait[next]) {
			p->way = next;
			cost.waited[next] = 0;
		} else {
			cost.waited[next]++;
		}
	}
	p->size = sizes[p->way];
	p->begun_ns = thread_ns(); /* others may have the processor meanwhile */
}

void pieces_end(const struct pieces *p, size_t bytes)
{
	uint64_t *ns = &cost.ns[p->way], now;
	if (bytes < PIECE_SMALLEST)
		return;
	now = ((thread_ns() - p->begun_ns) << 20) / bytes + 1;
	*ns = *ns ? (3 * *ns + now) / 4 : now;
	const bool dear = now > 2 * cost.ns[cheapest()];
	cost.wait[p->way] = !dear ? 0 : cost.wait[p->way] < WAIT_MAX ? 2 * cost.wait[p->way] + 1 : WAIT_MAX;
}
