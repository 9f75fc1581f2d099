/* Merges what all processes have seen of a shared memory, and stored in it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "restart/base/cut.h"
#include "restart/memory/shared_report.h"
#include "base/descriptors.h"
#include "base/pids.h"

static const struct reported_head *told[PIDS];
static bool looked;

static const struct reported_head *read_told(unsigned number)
{
	char path[4096];
	struct stat st;
	snprintf(path, sizeof(path), "%s/shared-%u", lower.opt.tree, number);
	int fd = descriptor_open(AT_FDCWD, path, O_RDONLY, 0);
	if (fd == -ENOENT)
		return NULL;
	void *p = fd < 0 || fstat(fd, &st) ? MAP_FAILED : mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED || (size_t)st.st_size < sizeof(struct reported_head))
		live_refuse("%s cannot be read", path);
	close(fd);
	return p;
}

const struct reported_head *shared_report(unsigned number)
{
	if (!looked)
		for (unsigned i = 0; i < pids()->n; i++)
			told[i] = read_told(i);
	looked = true;
	return told[number];
}

static bool is(const struct reported_region *r, uint64_t dev, uint64_t ino)
{
	return r->dev == dev && r->ino == ino;
}

static bool has_file(const struct reported_head *head, uint64_t dev, uint64_t ino)
{
	for (unsigned i = 0; head && i < head->n; i++)
		if (is(&reported_regions(head)[i], dev, ino) && reported_regions(head)[i].file)
			return true;
	return false;
}

static bool has(const struct reported_head *head, uint64_t dev, uint64_t ino)
{
	for (unsigned i = 0; head && i < head->n; i++)
		if (is(&reported_regions(head)[i], dev, ino))
			return true;
	return false;
}

unsigned shared_maker(uint64_t dev, uint64_t ino)
{
	unsigned number = 0;
	while (number < pids()->n && !has_file(shared_report(number), dev, ino))
		number++;
	if (number < pids()->n)
		return number;
	for (number = 0; number < pids()->n && !has(shared_report(number), dev, ino);)
		number++;
	return number;
}

static uint64_t size_of(uint64_t dev, uint64_t ino)
{
	uint64_t size = 0;
	for (unsigned n = 0; n < pids()->n; n++)
		for (unsigned i = 0; shared_report(n) && i < shared_report(n)->n; i++) {
			const struct reported_region *r = &reported_regions(shared_report(n))[i];
			if (is(r, dev, ino) && r->offset + (r->end - r->start) > size)
				size = r->offset + (r->end - r->start);
		}
	return size;
}

/* The next report by time that has this memory; NULL: no more. */
static const struct reported_head *next_by_time(uint64_t dev, uint64_t ino, const struct reported_head *before)
{
	const struct reported_head *next = NULL;
	for (unsigned n = 0; n < pids()->n; n++) {
		const struct reported_head *h = shared_report(n);
		if (h == before || !has(h, dev, ino) || h->late ||
		    (before && (h->at_ns < before->at_ns || (h->at_ns == before->at_ns && h < before))))
			continue;
		if (!next || h->at_ns < next->at_ns || (h->at_ns == next->at_ns && h < next))
			next = h;
	}
	return next;
}

static const uint8_t *view_of(const struct reported_head *h, unsigned region)
{
	const uint8_t *at = (const uint8_t *)(reported_regions(h) + h->n);
	for (unsigned i = 0; i < region; i++)
		at += reported_regions(h)[i].end - reported_regions(h)[i].start;
	return at;
}

/* Puts together what the last process to look has seen; returns when that was. */
static uint64_t seen(uint64_t dev, uint64_t ino, uint8_t *bytes)
{
	const struct reported_head *last = NULL;
	for (const struct reported_head *h = NULL; (h = next_by_time(dev, ino, h)); last = h)
		for (unsigned i = 0; i < h->n; i++)
			if (is(&reported_regions(h)[i], dev, ino))
				memcpy(bytes + reported_regions(h)[i].offset, view_of(h, i),
				       reported_regions(h)[i].end - reported_regions(h)[i].start);
	if (!last || !last->fresh)
		live_refuse("the content of its shared memory at that event is not known: choose another event");
	return last->at_ns;
}

struct merge {
	uint8_t *bytes, *base;
	uint8_t *writer;  /* for each byte: the process, from 1, that has stored it since */
	uint64_t base_ns; /* when the base was looked at */
};

static void refuse(const struct reported_region *r, uint64_t at)
{
	live_refuse("several of its processes were writing to the shared memory at %#lx: choose another event",
		    (unsigned long)(r->start + at));
}

/* Has another process seen VALUE there since (or, not EQUAL, another value)? */
static bool seen_since(const struct reported_head *of, const struct reported_region *r, uint64_t at, uint8_t value,
		       bool equal)
{
	for (unsigned n = 0; n < pids()->n; n++) {
		const struct reported_head *h = shared_report(n);
		if (!h || h == of)
			continue;
		const uint8_t *p = (const uint8_t *)h + h->stores, *end = p + h->stores_len;
		for (const struct reported_store *s; p < end; p += reported_store_size(s)) {
			s = (const struct reported_store *)p;
			const struct reported_region *far = &reported_regions(h)[s->region];
			const uint64_t from = far->offset + s->at;
			if (s->kind != TOLD_SEEN || s->at_ns <= of->at_ns || !is(far, r->dev, r->ino) || at < from ||
			    at >= from + s->len)
				continue;
			if ((((const uint8_t *)(s + 1))[at - from] == value) == equal)
				return true;
		}
	}
	return false;
}

/* A store between a process's last event before the cut and its next one.  It may be in the base, or have been there
 * and been overwritten since, or have come later: true. */
static bool comes_later(const struct merge *m, const struct reported_head *h, const struct reported_store *s,
			uint64_t i)
{
	const struct reported_region *r = &reported_regions(h)[s->region];
	const uint64_t at = r->offset + s->at + i;
	const uint8_t now = ((const uint8_t *)(s + 1))[i], old = view_of(h, s->region)[s->at + i];
	if (m->base[at] == now || seen_since(h, r, at, now, true))
		return false;
	if (m->base[at] != old || seen_since(h, r, at, old, false))
		refuse(r, s->at + i);
	return true;
}

static void apply(struct merge *m, const struct reported_head *h, unsigned number, const struct reported_store *s)
{
	const struct reported_region *r = &reported_regions(h)[s->region];
	const uint8_t *bytes = (const uint8_t *)(s + 1), writer = (uint8_t)(number % 255 + 1);
	if (s->kind == TOLD_SEEN || s->at_ns <= m->base_ns)
		return;
	for (uint64_t i = 0; i < s->len; i++) {
		const uint64_t at = r->offset + s->at + i;
		if (s->kind == TOLD_OPEN && !comes_later(m, h, s, i))
			continue;
		if (m->writer[at] && m->writer[at] != writer && m->bytes[at] != bytes[i])
			refuse(r, s->at + i);
		m->writer[at] = writer;
		m->bytes[at] = bytes[i];
	}
}

uint64_t shared_merged(uint64_t dev, uint64_t ino, uint8_t **bytes)
{
	const uint64_t size = size_of(dev, ino);
	struct merge m = {.bytes = calloc(1, size), .base = malloc(size), .writer = calloc(1, size)};
	if (!m.bytes || !m.base || !m.writer)
		live_refuse("out of memory for its shared memory");
	m.base_ns = seen(dev, ino, m.bytes);
	memcpy(m.base, m.bytes, size);
	for (unsigned n = 0; n < pids()->n; n++) {
		const struct reported_head *h = shared_report(n);
		if (!has(h, dev, ino))
			continue;
		const uint8_t *at = (const uint8_t *)h + h->stores, *end = at + h->stores_len;
		for (const struct reported_store *s; at < end; at += reported_store_size(s)) {
			s = (const struct reported_store *)at;
			if (is(&reported_regions(h)[s->region], dev, ino))
				apply(&m, h, n, s);
		}
	}
	free(m.base);
	free(m.writer);
	*bytes = m.bytes;
	return size;
}
