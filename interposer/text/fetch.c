#include "text/fetch.h"
#include <string.h>
#include "seek/breakpoints.h"
#include "space/upper_memory.h"
#include "text/hot_stubs.h"
#include "text/decode.h"
#include "text/tsc_sites.h"
#include "seek/trampoline.h"

/* Instructions decoded lately; text changes only by events or by the debugger, both say so, and the
 * bytes are compared besides. */
#define CACHE 4096

static struct insn cache[CACHE];
static uint64_t cache_pc[CACHE];

/* Bytes of text as the program knows them. */
static uint8_t first_byte(uint64_t pc, uint8_t in_memory)
{
	const struct place *p = in_memory == 0xcc ? breakpoints_at(pc) : NULL;

	return p && p->inserted ? p->original : in_memory;
}

const struct insn *fetch(uint64_t pc)
{
	unsigned slot = (unsigned)(pc ^ pc >> 12) % CACHE;
	struct insn *in = &cache[slot];
	const uint8_t *text = (const uint8_t *)pc;
	uint8_t bytes[15];
	size_t avail = sizeof(bytes);
	bool patched = trampoline_covers(pc, sizeof(bytes));

	if (!patched && cache_pc[slot] == pc && in->len && upper_readable(pc, in->len) &&
	    in->bytes[0] == first_byte(pc, text[0]) && !memcmp(in->bytes + 1, text + 1, in->len - 1u))
		return in;
	if (upper_readable(pc, sizeof(bytes)))
		memcpy(bytes, text, sizeof(bytes));
	else
		avail = upper_read(pc, bytes, sizeof(bytes));
	if (!avail)
		return NULL;
	bytes[0] = first_byte(pc, bytes[0]);
	if (patched)
		trampoline_hide(pc, bytes, avail);
	if (avail >= HOT_SITE)
		hot_site_hide(pc, bytes);
	if (tsc_sites_any())
		tsc_sites_hide(pc, bytes, avail);
	cache_pc[slot] = pc;
	if (decode(bytes, avail, in)) {
		in->len = 0;
		return NULL;
	}
	return in;
}
