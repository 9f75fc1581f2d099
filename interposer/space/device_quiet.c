#include "space/device_quiet.h"
#include <stddef.h>
#include "arch/blocks.h"
#include "space/device_memory.h"

/* regions are whole pages */
_Static_assert(BLOCK == 2 * DEVICE_LINE, "same_line() leads to a block");

static bool same_line(const char *a, const char *b)
{
	const uint64_t *x = (const uint64_t *)a, *y = (const uint64_t *)b;
	return !((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]) | (x[3] ^ y[3]) | (x[4] ^ y[4]) | (x[5] ^ y[5]) |
		 (x[6] ^ y[6]) | (x[7] ^ y[7]));
}

uint64_t device_differs(const struct device_region *r, uint64_t from, uint64_t to)
{
	const char *a = (const char *)from, *b = r->shadow + (from - r->start), *end = (const char *)to;
	if (from % BLOCK && same_line(a, b)) {
		a += DEVICE_LINE;
		b += DEVICE_LINE;
	}
	if ((uint64_t)a % BLOCK == 0 && a < end) {
		const char *block = blocks_differ(a, b, end);
		b += block - a;
		a = block;
	}
	for (; a < end && same_line(a, b); a += DEVICE_LINE)
		b += DEVICE_LINE;
	return (uint64_t)a;
}

static bool differs(const struct device_region *r)
{
	return device_differs(r, r->start, r->end) < r->end;
}

bool device_memory_quiet(void)
{
	if (device_table.wanted)
		return false;
	if (!device_table.remote_bytes || device_table.remote_bytes > DEVICE_SMALL_REMOTE)
		return true;
	for (unsigned i = 0; i < device_regions; i++)
		if (device_table.r[i].remote_users && differs(&device_table.r[i]))
			return false;
	return true;
}
