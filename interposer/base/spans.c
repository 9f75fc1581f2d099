/* A treap (Seidel, Aragon: Randomized search trees, 1996): ordered by place, a heap by weight. Each node holds the
 * highest end in its subtree. */
#include "base/spans.h"
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

enum { SLAB = 64 << 10 };

static bool before(const struct span *a, const struct span *b)
{
	if (a->of != b->of)
		return a->of < b->of;
	return a->start != b->start ? a->start < b->start : a->number < b->number;
}

static struct span *counted(struct span *t)
{
	t->most = t->end;
	for (int i = 0; i < 2; i++)
		if (t->kid[i] && t->kid[i]->most > t->most)
			t->most = t->kid[i]->most;
	return t;
}

/* Pseudo-random, and different for all spans. */
static uint64_t weight(const struct span *s)
{
	uint64_t x = s->number * 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
	return x ^ x >> 32;
}

static struct span *with(struct span *t, struct span *s)
{
	if (!t)
		return counted(s);
	const int side = before(t, s);
	struct span *kid = t->kid[side] = with(t->kid[side], s);
	if (weight(kid) > weight(t)) {
		t->kid[side] = kid->kid[!side];
		kid->kid[!side] = counted(t);
		t = kid;
	}
	return counted(t);
}

static struct span *joined(struct span *low, struct span *high)
{
	if (!low || !high)
		return low ? low : high;
	if (weight(low) > weight(high)) {
		low->kid[1] = joined(low->kid[1], high);
		return counted(low);
	}
	high->kid[0] = joined(low, high->kid[0]);
	return counted(high);
}

static struct span *without(struct span *t, const struct span *s)
{
	if (t == s)
		return joined(t->kid[0], t->kid[1]);
	const int side = before(t, s);
	t->kid[side] = without(t->kid[side], s);
	return counted(t);
}

static uint64_t newest;

void spans_add(struct spans *all, struct span *s)
{
	s->kid[0] = s->kid[1] = NULL;
	s->number = ++newest;
	all->root = with(all->root, s);
	all->n++;
	if (all->added)
		all->added(s);
}

void spans_take(struct spans *all, struct span *s)
{
	if (all->taken)
		all->taken(s);
	all->root = without(all->root, s);
	all->n--;
}

static struct span *get(struct spans *all)
{
	const size_t size = (all->size + 15) & ~(size_t)15;
	if (!all->unused) {
		char *p = mmap(NULL, SLAB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return NULL;
		for (size_t at = 0; at + size <= SLAB; at += size) {
			*(void **)(p + at) = all->unused;
			all->unused = p + at;
		}
	}
	struct span *s = all->unused;
	all->unused = *(void **)s;
	return s;
}

static void put(struct spans *all, struct span *s)
{
	*(void **)s = all->unused;
	all->unused = s;
}

void *spans_new(struct spans *all, const void *element)
{
	struct span *s = get(all);
	if (!s)
		return NULL;
	memcpy(s, element, all->size);
	spans_add(all, s);
	return s;
}

void spans_free(struct spans *all, struct span *s)
{
	spans_take(all, s);
	put(all, s);
}

/* A copy of the part [from, to) of s, in no tree. */
static struct span *part_of(struct spans *all, const struct span *s, uint64_t from, uint64_t to)
{
	struct span *part = get(all);
	if (!part)
		return NULL;
	memcpy(part, s, all->size);
	part->start = from;
	part->end = to;
	if (all->later && from > s->start)
		all->later(part, from - s->start);
	return part;
}

int spans_cut(struct spans *all, uint64_t start, uint64_t end, void (*gone)(struct span *part, void *arg), void *arg)
{
	for (struct span *s; start < end && (s = spans_next(all, NULL, 0, start, end));) {
		const uint64_t from = s->start > start ? s->start : start, to = s->end < end ? s->end : end;
		struct span *part = part_of(all, s, from, to), *tail = part_of(all, s, to, s->end);
		if (!part || !tail)
			return -ENOMEM;
		spans_take(all, s);
		s->end = from;
		if (s->end > s->start)
			spans_add(all, s);
		else
			put(all, s);
		if (tail->end > tail->start)
			spans_add(all, tail);
		else
			put(all, tail);
		if (gone)
			gone(part, arg);
		put(all, part);
	}
	return 0;
}

struct wanted {
	const struct span *after;
	uint64_t of, start, end;
};

static struct span *first(struct span *t, const struct wanted *w)
{
	while (t && t->most > w->start) {
		if (t->of < w->of || (w->after && !before(w->after, t))) {
			t = t->kid[1];
			continue;
		}
		struct span *s = first(t->kid[0], w);
		if (s)
			return s;
		if (t->of > w->of || t->start >= w->end)
			return NULL;
		if (t->end > w->start)
			return t;
		t = t->kid[1];
	}
	return NULL;
}

void *spans_next(const struct spans *all, const struct span *after, uint64_t of, uint64_t start, uint64_t end)
{
	const struct wanted w = {after, of, start, end};
	return first(all->root, &w);
}
