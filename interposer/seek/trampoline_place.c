#include "seek/trampoline_place.h"
#include <errno.h>
#include <sys/mman.h>
#include "space/arena.h"
#include "interface/layout.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { RANGES = 2048, BEFORE = 16, ATTEMPTS = 64 };

struct search {
	const struct plan *plan;
	uint64_t low, high; /* range within reach */
	unsigned nranges;
	struct {
		uint64_t start, end;
	} ranges[RANGES];
	bool allowed[4][256]; /* bytes of the jump's distance */
	unsigned attempts;
};

static int collect(const struct mapping *m, void *arg)
{
	struct search *s = arg;

	if (m->end < s->low || m->start > s->high)
		return 0;
	if (s->nranges && s->ranges[s->nranges - 1].end == m->start) {
		s->ranges[s->nranges - 1].end = m->end;
		return 0;
	}
	if (s->nranges == RANGES)
		return -ENOTSUP;
	s->ranges[s->nranges].start = m->start;
	s->ranges[s->nranges++].end = m->end;
	return 0;
}

static bool is_free(const struct search *s, uint64_t from, uint64_t to)
{
	if (from < s->low || to > s->high || to <= from)
		return false;
	for (unsigned i = 0; i < s->nranges; i++)
		if (s->ranges[i].start < to && s->ranges[i].end > from)
			return false;
	return true;
}

/* Is all of it taken, or out of reach? */
static bool is_taken(const struct search *s, uint64_t from, uint64_t to)
{
	if (to <= s->low || from >= s->high || to < from)
		return true;
	for (unsigned i = 0; i < s->nranges; i++)
		if (s->ranges[i].start <= from && s->ranges[i].end >= to)
			return true;
	return false;
}

static int try(struct search *s, uint64_t entry, struct trampoline_place *place)
{
	uint64_t code = (entry - BEFORE) & ~(RDB_PAGE - 1);
	uint64_t end = (entry + CODE_ROOM + RDB_PAGE - 1) & ~(RDB_PAGE - 1);
	void *at;

	/* leave a page free on both sides, so that the kernel does not merge it with a neighbour */
	if (!is_free(s, code - 2 * RDB_PAGE, end + RDB_PAGE))
		return -ENOTSUP;
	place->map = code - RDB_PAGE;
	place->len = end - place->map;
	place->entry = entry;
	at = mmap((void *)place->map, place->len, PROT_READ | PROT_WRITE | PROT_EXEC,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (at == (void *)place->map)
		return 0;
	if (at != MAP_FAILED) /* a kernel that does not know the flag */
		munmap(at, place->len);
	else if (errno != EEXIST)
		return -errno;
	return ++s->attempts < ATTEMPTS ? -ENOTSUP : -EEXIST;
}

/* The lower two bytes of the distance, within 64 KiB. */
static int try_block(struct search *s, uint64_t base, struct trampoline_place *place)
{
	unsigned first = 0;

	while (!s->allowed[0][first])
		first++;
	for (unsigned b = 0; b < 256; b++) {
		int rc = s->allowed[1][b] ? try(s, base + (b << 8) + first, place) : -ENOTSUP;

		if (rc != -ENOTSUP)
			return rc;
	}
	return -ENOTSUP;
}

static int search(struct search *s, struct trampoline_place *place)
{
	uint64_t from = s->plan->pc + PATCH;

	for (unsigned i = 0; i < 256; i++) { /* 0, -1, 1, -2: the nearest first */
		int8_t top = (int8_t)(i & 1 ? -1 - (int)(i / 2) : (int)(i / 2));
		uint64_t slab = from + ((uint64_t)(int64_t)top << 24);

		if (!s->allowed[3][(uint8_t)top] || is_taken(s, slab, slab + (1u << 24)))
			continue;
		for (unsigned b = 0; b < 256; b++) {
			uint64_t base = slab + ((uint64_t)b << 16);
			int rc;

			if (!s->allowed[2][b] || is_taken(s, base, base + (1u << 16)))
				continue;
			rc = try_block(s, base, place);
			if (rc != -ENOTSUP)
				return rc;
		}
	}
	return -ENOTSUP;
}

int trampoline_map(const struct plan *p, struct trampoline_place *place)
{
	static struct search s;
	int rc;

	s = (struct search){.plan = p, .low = p->low, .high = p->high};
	rc = arena_each(collect, &s);
	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < 4; i++)
		for (unsigned b = 0; b < 256; b++)
			s.allowed[i][b] = true;
	for (unsigned k = 1; k < p->n; k++) {
		uint64_t at = p->from[k] - p->pc; /* 1..4 */

		for (unsigned b = 0; b < 256; b++)
			s.allowed[at - 1][b] = trampoline_byte_faults((uint8_t)b);
	}
	rc = search(&s, place);
	return rc == -EEXIST ? -ENOTSUP : rc;
}
