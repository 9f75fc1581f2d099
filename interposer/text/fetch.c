#include "text/fetch.h"
#include <string.h>
#include "space/patches.h"
#include "space/upper_memory.h"
#include "arch/insn.h"

/* Cache of decoded instructions.  Text changes only by events or by the debugger, which both report it; besides, the
 * bytes are compared. */
#define CACHE 4096

static struct insn cache[CACHE];
static uint64_t cache_pc[CACHE];

const struct insn *fetch(uint64_t pc)
{
	unsigned slot = (unsigned)(pc ^ pc >> 12) % CACHE;
	struct insn *in = &cache[slot];
	const uint8_t *text = (const uint8_t *)pc;
	uint8_t bytes[15];
	size_t avail = sizeof(bytes);
	const bool patched = patches_near(pc, sizeof(bytes)), known = cache_pc[slot] == pc && in->len;

	if (known && !patched && upper_readable(pc, in->len) && !memcmp(in->bytes, text, in->len))
		return in;
	if (upper_readable(pc, sizeof(bytes)))
		memcpy(bytes, text, sizeof(bytes));
	else
		avail = upper_read(pc, bytes, sizeof(bytes));
	if (!avail)
		return NULL;
	if (patched)
		patches_hide(PATCH_HOT, pc, bytes, avail);
	if (known && in->len <= avail && !memcmp(in->bytes, bytes, in->len))
		return in;
	cache_pc[slot] = pc;
	if (decode(bytes, avail, in)) {
		in->len = 0;
		return NULL;
	}
	return in;
}
