/* Where in the address space a trampoline goes. */
#pragma once
#include "arch/trampoline_code.h"

struct trampoline_place {
	uint64_t map, len; /* a page of data, then code */
	uint64_t entry;    /* of the patch's jump */
};

/* Maps it, readable, writable and executable: room for some bytes before the entry and CODE_ROOM after.
 * 0 or -errno (-ENOTSUP: no address would do). */
int trampoline_map(const struct plan *p, struct trampoline_place *place);
