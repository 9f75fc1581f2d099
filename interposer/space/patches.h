/* What we have put over the program's text: one table of addresses, the program's own bytes, and ours in their place.
 * Nobody may take our bytes for the program's; who puts some there says so here, and says when they are gone. */
#ifndef RDB_PATCHES_H
#define RDB_PATCHES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/layout.h"

enum { PATCH_BYTES = 5 };

/* Later ones may lie over earlier ones. */
enum patch_kind {
	PATCH_HOT, /* stays in images and hashes (text/hot_stubs.h) */
	PATCH_TSC, /* this and the rest do not: nobody but this process knows of them */
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
/* The first of them that lies in these bytes, or NULL; good until the next patch_add() or patch_drop(). */
const struct patch *patch_in(enum patch_kind kind, uint64_t addr, size_t len);
/* What was mapped there is there no more. */
void patches_gone(uint64_t start, uint64_t end);
/* If set: is told so, too. */
extern void (*patches_at_gone)(uint64_t start, uint64_t end);

/* Could one be in these few bytes?  False: there is none. */
bool patches_near(uint64_t addr, size_t len);
/* Text at addr as the program knows it, into a copy of it: without those of this kind and later ones. */
void patches_hide(enum patch_kind from, uint64_t addr, void *copy, size_t len);
/* The page as images and hashes have it: in `copy` if it is not so here. */
const void *patches_page(uint64_t at, void *copy);

/* Where a patch leads, for the time being: not the program's memory. */
extern struct patch_code {
	uint64_t at, len;
} patch_code;

/* The stubs of hot_stubs.h and tsc_sites.h, in a replay as well: the first image holds them.  They are not hashed. */
static inline bool hot_stubs_inside(uint64_t pc)
{
	return pc - RDB_STUBS < RDB_STUBS_END - RDB_STUBS;
}

static inline bool tsc_stubs_inside(uint64_t pc)
{
	return pc - RDB_TSC_STUBS_LOW < RDB_TSC_STUBS_BYTES || pc - RDB_TSC_STUBS_PROG < RDB_TSC_STUBS_BYTES ||
	       pc - RDB_TSC_STUBS < RDB_TSC_STUBS_BYTES;
}

/* Those of spin_sites.h: nobody but the process that records has them. */
static inline bool spin_stubs_inside(uint64_t pc)
{
	return pc - RDB_SPIN_STUBS_LOW < RDB_TSC_STUBS_BYTES || pc - RDB_SPIN_STUBS_PROG < RDB_TSC_STUBS_BYTES ||
	       pc - RDB_SPIN_STUBS < RDB_TSC_STUBS_BYTES;
}

#endif
