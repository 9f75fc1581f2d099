/* Comparing and copying a part of a window: the program's memory and the public copy. */
#include "lower/windows/window_words.h"
#include "lower/objects/real.h"
#include <string.h>

#define BLOCK 4096ul

/* 0xff where a byte of x is not zero. */
static uint64_t byte_mask(uint64_t x)
{
	const uint64_t low = 0x7f7f7f7f7f7f7f7full;

	return ((((x & low) + low) | x) >> 7 & 0x0101010101010101ull) * 0xff;
}

/* Publishes the program's stores: whole words at once, as the program stored them, and without changing other bytes of
 * the word, which other ranks may be writing. */
static void publish_word(uint64_t *public, uint64_t *base, uint64_t upper)
{
	uint64_t mask = byte_mask(upper ^ *base), old = __atomic_load_n(public, __ATOMIC_RELAXED);

	while (mask && !__atomic_compare_exchange_n(public, &old, (old & ~mask) | (upper & mask), false,
						    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	*base = upper;
}

/* Takes data of others.  Other processes may write to the word, too (MPI_Win_allocate_shared). */
static bool take_word(uint64_t *upper, uint64_t *base, uint64_t public)
{
	uint64_t mask = byte_mask(public ^ *base), old = __atomic_load_n(upper, __ATOMIC_RELAXED);

	while (mask && !__atomic_compare_exchange_n(upper, &old, (old & ~mask) | (public & mask), false,
						    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	*base = public;
	return mask != 0;
}

/* The same for four bytes, if the addresses have no more alignment in common. */
static void publish_half(uint32_t *public, uint32_t *base, uint32_t upper)
{
	uint32_t mask = (uint32_t)byte_mask(upper ^ *base), old = __atomic_load_n(public, __ATOMIC_RELAXED);

	while (mask && !__atomic_compare_exchange_n(public, &old, (old & ~mask) | (upper & mask), false,
						    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	*base = upper;
}

static bool take_half(uint32_t *upper, uint32_t *base, uint32_t public)
{
	uint32_t mask = (uint32_t)byte_mask(public ^ *base), old = __atomic_load_n(upper, __ATOMIC_RELAXED);

	while (mask && !__atomic_compare_exchange_n(upper, &old, (old & ~mask) | (public & mask), false,
						    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	*base = public;
	return mask != 0;
}

static size_t step(const struct window_part *part, size_t at, size_t to)
{
	return ((uintptr_t)(part->upper + at) & (part->word - 1)) == 0 && to - at >= part->word ? part->word : 1;
}

static void publish_block(struct window_part *part, size_t from, size_t to)
{
	for (size_t i = from, n; i < to; i += n) {
		char *upper = part->upper + i, *public = part->public + i, *base = part->base + i;

		n = step(part, i, to);
		if (n == 8) {
			publish_word((void *)public, (void *)base, *(uint64_t *)upper);
		} else if (n == 4) {
			publish_half((void *)public, (void *)base, *(uint32_t *)upper);
		} else if (*upper != *base) {
			__atomic_store_n(public, *upper, __ATOMIC_SEQ_CST);
			*base = *upper;
		}
	}
}

static bool take_byte(char *upper, char *base, char public)
{
	bool changed = public != *base;

	if (changed)
		*upper = *base = public;
	return changed;
}

static void take_block(struct window_part *part, size_t from, size_t to)
{
	size_t first = to, last = from;

	for (size_t i = from, n; i < to; i += n) {
		char *upper = part->upper + i, *public = part->public + i, *base = part->base + i;
		bool changed;

		n = step(part, i, to);
		if (n == 8)
			changed = take_word((void *)upper, (void *)base,
					    __atomic_load_n((uint64_t *)public, __ATOMIC_ACQUIRE));
		else if (n == 4)
			changed = take_half((void *)upper, (void *)base,
					    __atomic_load_n((uint32_t *)public, __ATOMIC_ACQUIRE));
		else
			changed = take_byte(upper, base, __atomic_load_n(public, __ATOMIC_ACQUIRE));
		if (changed) {
			first = i < first ? i : first;
			last = i + n;
		}
	}
	if (first < last)
		host->out(part->upper + first, last - first);
}

typedef void block_work(struct window_part *part, size_t from, size_t to);

/* Calls `work` for blocks in which a and b differ; returns whether any does. */
static bool where_different(struct window_part *part, const char *a, const char *b, block_work *work)
{
	bool any = false;

	for (size_t from = 0, to; from < part->len; from = to) {
		/* blocks end where words do */
		to = from + BLOCK - ((uintptr_t)(part->upper + from) & 7);
		to = to < part->len ? to : part->len;
		if (!memcmp(a + from, b + from, to - from))
			continue;
		any = true;
		if (!work)
			return true;
		work(part, from, to);
	}
	return any;
}

static void say_and_publish_block(struct window_part *part, size_t from, size_t to)
{
	host->sent(part->upper + from, to - from);
	publish_block(part, from, to);
}

/* A program may unmap a window's memory before MPI_Win_free, when it expects no more one-sided operations. */
static bool still_mapped(struct window_part *part)
{
	char byte;

	part->gone = part->len &&
		     (host->copy(&byte, part->upper, 1) != 1 || host->copy(&byte, part->upper + part->len - 1, 1) != 1);
	return !part->gone;
}

void window_part_publish(struct window_part *part, bool say)
{
	if (still_mapped(part))
		where_different(part, part->upper, part->base, say ? say_and_publish_block : publish_block);
}

bool window_part_take(struct window_part *part)
{
	return !part->gone && where_different(part, part->public, part->base, take_block);
}

bool window_part_stored(struct window_part *part)
{
	return still_mapped(part) && where_different(part, part->upper, part->base, NULL);
}

bool window_part_arrived(struct window_part *part)
{
	return !part->gone && where_different(part, part->public, part->base, NULL);
}
