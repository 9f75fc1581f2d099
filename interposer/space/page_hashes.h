/* Hashes of single pages, kept between two hashes of memory where --hash-every asks for them: so that a
 * mismatch can be told by its page.
 *
 * A LOG_HASH record then has one chunk, a note RDB_NOTE_PAGES: a word that is 1 where the note names all
 * pages (the first hash of a recording) and 0 where it names those that have changed since the hash
 * before, then a word a page: page number << 28 | hash, hash 0 for one that has become zero or is gone.
 */
#ifndef RDB_PAGE_HASHES_H
#define RDB_PAGE_HASHES_H
#include "base/lower.h"

enum { PAGE_HASH_BITS = 28 };

struct page_difference {
	uint64_t addr;  /* lowest page known to differ */
	uint64_t pages; /* how many do */
};

/* Record: the hash of memory (as arena_hash()), and the note about it, valid until the next call;
 * *len is 0 if there is no memory for it. */
uint64_t page_hashes_take(const void **note, uint32_t *len);
/* Record: the next hash is the first one (a new recording begins, as in a child after fork). */
void page_hashes_forget(void);

/* Verify: what the log says of the pages at its next hash. */
void page_hashes_expect(const void *note, size_t len);
/* Compares memory with it.  False if no page is known to differ: where the replay began after the first
 * hash, only pages that have changed since are known. */
bool page_hashes_compare(struct page_difference *out);

#endif
