#include "crossing/scratch.h"
#include <string.h>
#include <sys/mman.h>
#include "crossing/boundary.h"

enum { SLOTS = 8, PIECES = 1024 };

struct piece {
	uint64_t start, end;
	const struct event *call; /* the call that it belongs to */
	unsigned slot;
};

static struct {
	struct piece pieces[PIECES]; /* by address */
	unsigned npieces;
} used;

void host_scratch_upto(uint64_t end)
{
	uint64_t *have = &lower.upper.scratch_end;
	end = (end + (1ul << 20) - 1) & ~((1ul << 20) - 1);
	if (end <= *have)
		return;
	if (end > RDB_SCRATCH_END || mmap((void *)*have, end - *have, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		rdb_fatal("no scratch memory for a callback: %lu bytes", (unsigned long)(end - RDB_SCRATCH));
	*have = end;
}

/* slot SLOTS: all of them. */
static void scratch_free(const struct event *call, unsigned slot)
{
	unsigned left = 0;
	for (unsigned i = 0; i < used.npieces; i++)
		if (used.pieces[i].call != call || (slot != SLOTS && used.pieces[i].slot != slot))
			used.pieces[left++] = used.pieces[i];
	used.npieces = left;
}

void *scratch(unsigned slot, size_t len)
{
	const struct event *call = event_current();
	uint64_t at = RDB_SCRATCH, bytes = (len + 63) & ~63ul;
	unsigned i = 0;
	if (slot >= SLOTS || !call)
		rdb_fatal("a plug-in asked for scratch slot %u", slot);
	scratch_free(call, slot);
	while (i < used.npieces && used.pieces[i].start - at < bytes)
		at = used.pieces[i++].end;
	if (used.npieces == PIECES)
		rdb_fatal("more than %d buffers for callbacks", PIECES);
	memmove(&used.pieces[i + 1], &used.pieces[i], (used.npieces++ - i) * sizeof(used.pieces[0]));
	used.pieces[i] = (struct piece){.start = at, .end = at + bytes, .call = call, .slot = slot};
	host_scratch_upto(at + bytes);
	return (void *)at;
}

void scratch_free_all(const struct event *call)
{
	if (used.npieces)
		scratch_free(call, SLOTS);
}
