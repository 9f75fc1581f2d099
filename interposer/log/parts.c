#include "log/parts.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "base/lower.h"

enum { NOTES_KEPT = 64 << 20 };

void *event_more_parts(void *parts, unsigned *room, size_t size)
{
	unsigned cap = *room ? *room * 2 : 128;
	void *p = parts ? mremap(parts, *room * size, cap * size, MREMAP_MAYMOVE)
			: mmap(NULL, cap * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		rdb_fatal("out of memory for an event of %u parts", cap);
	*room = cap;
	return p;
}

static struct event_chunk *new_chunk(struct event *ev)
{
	if (ev->nchunks == ev->chunk_cap)
		ev->chunks = event_more_parts(ev->chunks, &ev->chunk_cap, sizeof(*ev->chunks));
	return &ev->chunks[ev->nchunks++];
}

void event_out(struct event *ev, void *upper, size_t len)
{
	if (!recording())
		return;
	for (char *p = upper; len;) {
		size_t n = len < (1ul << 30) ? len : (1ul << 30);
		*new_chunk(ev) = (struct event_chunk){.addr = (uint64_t)p, .data = p, .len = (uint32_t)n};
		p += n;
		len -= n;
	}
}

void event_chunk_from(struct event *ev, uint64_t addr, enum rdb_note note, const void *data, size_t len)
{
	struct event_chunk *last = ev->nchunks ? &ev->chunks[ev->nchunks - 1] : NULL;
	if (!recording())
		return;
	if (last && last->note == note && (const char *)last->data + last->len == data && last->len < 1u << 30 &&
	    (addr ? last->addr + last->len == addr : !last->addr))
		last->len += (uint32_t)len;
	else
		*new_chunk(ev) = (struct event_chunk){.addr = addr, .data = data, .len = (uint32_t)len, .note = note};
}

/* Room for a note that does not fit in notes[].  Growing moves these notes, and corrects their chunks. */
static char *more_notes(struct event *ev, size_t len)
{
	if (ev->more_used + len + 8 > ev->more_room) {
		unsigned room = ev->more_room ? ev->more_room * 2 : 1 << 20;
		void *p = ev->more ? mremap(ev->more, ev->more_room, room, MREMAP_MAYMOVE)
				   : mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			rdb_fatal("out of memory for the notes of an event");
		for (unsigned i = 0; ev->more && i < ev->nchunks; i++) {
			const char *data = ev->chunks[i].data;
			if (!ev->chunks[i].addr && data >= ev->more && data < ev->more + ev->more_room)
				ev->chunks[i].data = (char *)p + (data - ev->more);
		}
		ev->more = p;
		ev->more_room = room;
	}
	ev->more_used += (unsigned)((len + 7) & ~7ul);
	return ev->more + ev->more_used - ((len + 7) & ~7ul);
}

void event_note(struct event *ev, enum rdb_note what, const void *data, size_t len)
{
	if (!recording())
		return;
	size_t at = (ev->notes_used + 7ul) & ~7ul;
	char *copy = ev->notes + at;
	if (len > (1u << 20) - 8)
		rdb_fatal("a note of %zu bytes does not fit in a log record", len);
	if (at + len > sizeof(ev->notes))
		copy = more_notes(ev, len);
	else
		ev->notes_used = (unsigned)(at + len);
	memcpy(copy, data, len);
	*new_chunk(ev) = (struct event_chunk){.data = copy, .len = (uint32_t)len, .note = what};
}

bool event_takes_chunks(const struct event *ev)
{
	return ev->kind == LOG_HYPERCALL || ev->kind == LOG_PREEMPT || ev->kind == LOG_RESUME ||
	       (ev->kind == LOG_SYSCALL && !ev->emulated);
}

void event_adopt(struct event *to, struct event *from)
{
	for (unsigned i = 0; i < from->nchunks; i++) {
		const struct event_chunk *c = &from->chunks[i];
		if (c->addr)
			*new_chunk(to) = *c;
		else
			event_note(to, c->note, c->data, c->len);
	}
	from->nchunks = from->notes_used = from->more_used = 0;
}

static int by_address(const void *a, const void *b)
{
	const struct event_chunk *x = a, *y = b;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

void event_compact(struct event *ev)
{
	struct event_chunk *notes = malloc(ev->nchunks * sizeof(*notes));
	unsigned all = ev->nchunks, nnotes = 0, n = 0, merged = 0;
	if (!notes)
		return;
	for (unsigned i = 0; i < all; i++)
		if (ev->chunks[i].addr)
			ev->chunks[n++] = ev->chunks[i];
		else
			notes[nnotes++] = ev->chunks[i];
	qsort(ev->chunks, n, sizeof(*ev->chunks), by_address);
	for (unsigned i = 0; i < n; i++) {
		const struct event_chunk c = ev->chunks[i];
		struct event_chunk *last = merged ? &ev->chunks[merged - 1] : NULL;
		if (last && last->addr + last->len >= c.addr && c.addr + c.len - last->addr < 1u << 30) {
			if (c.addr + c.len > last->addr + last->len)
				last->len = (uint32_t)(c.addr + c.len - last->addr);
		} else {
			ev->chunks[merged++] = c;
		}
	}
	if (ev->more_used > NOTES_KEPT)
		nnotes = ev->notes_used = ev->more_used = 0;
	memcpy(ev->chunks + merged, notes, nnotes * sizeof(*notes));
	ev->nchunks = merged + nnotes;
	free(notes);
}
