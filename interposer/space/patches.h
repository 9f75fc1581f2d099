/* Patches of the program's text: one table of addresses with the program's own bytes and ours.  Nobody may take our
 * bytes for the program's: code that patches text adds the patch here, and drops it when it is gone. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "interface/layout.h"

enum { PATCH_BYTES = 5 };

/* A later kind may lie over an earlier one. */
enum patch_kind {
	PATCH_HOT,     /* part of images and hashes */
	PATCH_COUNTER, /* this and later kinds are not: only this process knows of them */
	PATCH_SPIN,
	PATCH_TRAMPOLINE,
	PATCH_BREAKPOINT,
};

struct patch {
	uint64_t addr;
	uint8_t kind, len, own[PATCH_BYTES], put[PATCH_BYTES];
};

void patch_add(enum patch_kind kind, uint64_t addr, uint8_t len, const void *own, const void *put);
void patch_drop(enum patch_kind kind, uint64_t addr);
/* The first patch of that kind that overlaps these bytes, or NULL; valid until the next patch_add() or patch_drop(). */
const struct patch *patch_in(enum patch_kind kind, uint64_t addr, size_t len);
/* Writes to text that is readable and executable.  False: it cannot be made writable. */
bool patches_write(uint64_t at, const void *bytes, size_t len);
/* Call when the memory there was unmapped or replaced. */
void patches_gone(uint64_t start, uint64_t end);
/* If set: called then, too. */
extern void (*patches_at_gone)(uint64_t start, uint64_t end);

/* Could a patch overlap these few bytes?  False: none does. */
bool patches_near(uint64_t addr, size_t len);
/* In `copy` of the text at addr, replaces patches of this kind and later ones by the program's bytes. */
void patches_hide(enum patch_kind from, uint64_t addr, void *copy, size_t len);
/* The page as images and hashes have it: the page itself, or `copy` if patches had to be removed. */
const void *patches_page(uint64_t at, void *copy);

/* Memory of the agent's trampolines: not part of the program's. */
extern struct patch_code {
	uint64_t at, len;
} patch_code;

/* Stubs of hot_stubs.h and counter_sites.h. A replay has them, too: they are in the first image. They are not
 * hashed. */
static inline bool hot_stubs_inside(uint64_t pc)
{
	return pc - RDB_STUBS < RDB_STUBS_END - RDB_STUBS;
}

static inline bool counter_stubs_inside(uint64_t pc)
{
	return pc - RDB_COUNTER_STUBS_LOW < RDB_COUNTER_STUBS_BYTES ||
	       pc - RDB_COUNTER_STUBS_PROG < RDB_COUNTER_STUBS_BYTES ||
	       pc - RDB_COUNTER_STUBS < RDB_COUNTER_STUBS_BYTES;
}

/* Stubs of spin_sites.h: only the recording process has them. */
static inline bool spin_stubs_inside(uint64_t pc)
{
	return pc - RDB_SPIN_STUBS_LOW < RDB_COUNTER_STUBS_BYTES ||
	       pc - RDB_SPIN_STUBS_PROG < RDB_COUNTER_STUBS_BYTES || pc - RDB_SPIN_STUBS < RDB_COUNTER_STUBS_BYTES;
}
