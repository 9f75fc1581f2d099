#include "memory/device_quiet.h"
#include "memory/device_memory.h"

static bool equal(const struct device_region *r)
{
	const uint64_t *a = (const uint64_t *)r->start, *b = (const uint64_t *)r->shadow;
	const uint64_t *end = (const uint64_t *)r->end;
	for (; a < end; a += 8, b += 8)
		if ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]) | (a[4] ^ b[4]) | (a[5] ^ b[5]) |
		    (a[6] ^ b[6]) | (a[7] ^ b[7]))
			return false;
	return true;
}

bool device_memory_quiet(void)
{
	if (device_table.wanted)
		return false;
	if (device_table.remote_bytes > DEVICE_SMALL_REMOTE)
		return true;
	for (unsigned i = 0; i < device_regions; i++)
		if (device_table.r[i].remote_users && !equal(&device_table.r[i]))
			return false;
	return true;
}
