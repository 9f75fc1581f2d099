#include <string.h>
#include <sys/mman.h>
#include "space/arena.h"
#include "space/page_hashes.h"

#define HASH_MASK ((1ul << PAGE_HASH_BITS) - 1)

enum { FIRST_SLOTS = 1 << 14 };

struct slot {
	uint64_t page; /* page number; 0: free slot */
	uint32_t hash;
	uint32_t seen; /* the last walk that met this page */
};

/* Open addressing, in lower memory without malloc: we are in a signal handler. */
static struct {
	struct slot *slots;
	size_t room, used; /* room: a power of two */
	uint32_t walk;
	bool complete; /* pages that are not in the table are zero */
	bool failed;   /* out of memory: the table is useless */
	uint64_t *note;
	size_t note_room, note_len; /* words */
	struct page_difference found;
} pages;

static void *grown(void *old, size_t from, size_t to)
{
	void *p = old ? mremap(old, from, to, MREMAP_MAYMOVE)
		      : mmap(NULL, to, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

static struct slot *find(uint64_t page)
{
	size_t i = (page * 0x9e3779b97f4a7c15ull) >> 20 & (pages.room - 1);
	while (pages.slots[i].page && pages.slots[i].page != page)
		i = (i + 1) & (pages.room - 1);
	return &pages.slots[i];
}

static bool make_room(void)
{
	if (pages.failed)
		return false;
	if (pages.room && pages.used < pages.room / 2)
		return true;
	struct slot *old = pages.slots;
	size_t old_room = pages.room, room = old_room ? old_room * 4 : FIRST_SLOTS;
	struct slot *fresh = grown(NULL, 0, room * sizeof(*fresh));
	if (!fresh) {
		pages.failed = true;
		return false;
	}
	pages.slots = fresh;
	pages.room = room;
	for (size_t i = 0; i < old_room; i++)
		if (old[i].page)
			*find(old[i].page) = old[i];
	if (old)
		munmap(old, old_room * sizeof(*old));
	return true;
}

/* The slot of a page, made if there is none.  NULL: out of memory. */
static struct slot *slot_of(uint64_t page)
{
	if (!make_room())
		return NULL;
	struct slot *s = find(page);
	if (!s->page) {
		s->page = page;
		pages.used++;
	}
	return s;
}

static void put(uint64_t word)
{
	if (pages.note_len == pages.note_room && !pages.failed) {
		size_t room = pages.note_room ? pages.note_room * 2 : 8192;
		uint64_t *p = grown(pages.note, pages.note_room * 8, room * 8);
		if (p) {
			pages.note = p;
			pages.note_room = room;
		} else {
			pages.failed = true;
		}
	}
	if (!pages.failed)
		pages.note[pages.note_len++] = word;
}

static void say(uint64_t page, uint64_t hash)
{
	put((page << PAGE_HASH_BITS) + hash);
}

static uint32_t shortened(uint64_t hash)
{
	return (uint32_t)(hash >> 8 & HASH_MASK) | 1; /* 0 means a page of zeros */
}

static void note_page(uint64_t addr, uint64_t hash)
{
	struct slot *s = slot_of(addr / RDB_PAGE);
	if (!s)
		return;
	uint32_t h = shortened(hash);
	s->seen = pages.walk;
	if (s->hash == h)
		return;
	s->hash = h;
	say(s->page, h);
}

uint64_t page_hashes_take(const void **note, uint32_t *len)
{
	pages.walk++;
	pages.note_len = 0;
	put(pages.complete ? 0 : 1);
	uint64_t sum = arena_hash_pages(note_page);
	for (size_t i = 0; i < pages.room; i++) {
		struct slot *s = &pages.slots[i];
		if (s->page && s->hash && s->seen != pages.walk) {
			s->hash = 0;
			say(s->page, 0);
		}
	}
	pages.complete = !pages.failed;
	*note = pages.note;
	*len = pages.failed || pages.note_len > UINT32_MAX / 16 ? 0 : (uint32_t)(pages.note_len * 8);
	if (!*len)
		page_hashes_forget();
	return sum;
}

void page_hashes_forget(void)
{
	if (pages.slots)
		munmap(pages.slots, pages.room * sizeof(*pages.slots));
	pages.slots = NULL;
	pages.room = pages.used = 0;
	pages.complete = pages.failed = false;
}

void page_hashes_expect(const void *note, size_t len)
{
	const uint64_t *word = note;
	if (len < 8)
		return;
	if (*word) {
		page_hashes_forget();
		pages.complete = true;
	}
	for (size_t i = 1; i < len / 8; i++) {
		struct slot *s = slot_of(word[i] >> PAGE_HASH_BITS);
		if (s)
			s->hash = (uint32_t)(word[i] & HASH_MASK);
	}
}

static void differs(uint64_t addr)
{
	if (!pages.found.pages++ || addr < pages.found.addr)
		pages.found.addr = addr;
}

static void compare_page(uint64_t addr, uint64_t hash)
{
	struct slot *s = pages.room ? find(addr / RDB_PAGE) : NULL;
	if (s && s->page) {
		s->seen = pages.walk;
		if (s->hash != shortened(hash))
			differs(addr);
	} else if (pages.complete) {
		differs(addr);
	}
}

bool page_hashes_compare(struct page_difference *out)
{
	pages.walk++;
	pages.found.pages = 0;
	if (pages.failed)
		return false;
	arena_hash_pages(compare_page);
	for (size_t i = 0; i < pages.room; i++) {
		const struct slot *s = &pages.slots[i];
		if (s->page && s->hash && s->seen != pages.walk)
			differs(s->page * RDB_PAGE);
	}
	*out = pages.found;
	return out->pages > 0;
}
