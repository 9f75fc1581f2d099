/* Ordered ranges of numbers: memory by address, files by offset. A range is a struct of its owner that begins with a
 * struct span. To find, add or remove one of n costs log n. Elements do not move. Nothing is allocated by malloc (we
 * may be in a signal handler). */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct span {
	uint64_t start, end;
	uint64_t of; /* key where one tree holds ranges of several things (such as files) */
	uint64_t most, number;
	struct span *kid[2];
};

struct spans {
	struct span *root;
	unsigned n;
	/* Size of an element if the tree allocates its elements; 0: its owner does. */
	size_t size;
	void *unused;
	/* Hooks, may be NULL: the element now begins `by` later; it was added; it is about to be removed. */
	void (*later)(struct span *s, uint64_t by);
	void (*added)(struct span *s);
	void (*taken)(struct span *s);
};

void spans_add(struct spans *all, struct span *s);
void spans_take(struct spans *all, struct span *s);
/* Allocates an element, copies the given one into it and adds it. NULL: no memory. */
void *spans_new(struct spans *all, const void *element);
/* Removes it and frees its memory. */
void spans_free(struct spans *all, struct span *s);
/* Cuts [start, end) out; the parts outside of it stay. Calls `gone` (may be NULL) for each removed part. 0 or
 * -ENOMEM. */
int spans_cut(struct spans *all, uint64_t start, uint64_t end, void (*gone)(struct span *part, void *arg), void *arg);

/* The first range of key `of` after `after` that overlaps [start, end); NULL: none. `after` may be NULL, or taken out
 * by spans_take(), or a copy; not freed by spans_free(), which overwrites it. */
void *spans_next(const struct spans *all, const struct span *after, uint64_t of, uint64_t start, uint64_t end);

static inline void *spans_at(const struct spans *all, uint64_t at)
{
	return spans_next(all, NULL, 0, at, at + 1);
}

/* Visits all that overlap [from, to), lowest first, in a tree with one key. */
#define SPANS_IN(type, var, all, from, to) \
	for (type *var = spans_next(all, NULL, 0, from, to); var; \
	     var = spans_next(all, (const struct span *)(var), 0, from, to))
#define SPANS_EACH(type, var, all) SPANS_IN(type, var, all, 0, UINT64_MAX)

/* A key for a file. Different files may have the same key. */
static inline uint64_t span_of_file(uint64_t dev, uint64_t ino)
{
	return (dev * 0x9e3779b97f4a7c15ull) ^ ino;
}
