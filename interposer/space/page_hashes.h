/* Hashes of single pages, kept from one hash of memory to the next with --hash-every, so that a mismatch can be
 * reported by its page.
 *
 * The LOG_HASH record has one chunk, a note RDB_NOTE_PAGES: a word that is 1 if the note lists all pages (the first
 * hash of a recording) and 0 if it lists those that have changed since the hash before; then a word for each page: page
 * number << 28 | hash.  Hash 0 is a page that has become zero or is gone.
 */
#pragma once
#include "base/lower.h"

enum { PAGE_HASH_BITS = 28 };

struct page_difference {
	uint64_t addr;  /* lowest page known to differ */
	uint64_t pages; /* number of such pages */
};

/* Record: returns the hash of memory (as arena_hash()) and its note, valid until the next call; *len is 0 if there was
 * no memory for the note. */
uint64_t page_hashes_take(const void **note, uint32_t *len);
/* Record: makes the next hash the first one (a new recording begins, as in a child after fork). */
void page_hashes_forget(void);

/* Verify: takes the page hashes of the log's next hash. */
void page_hashes_expect(const void *note, size_t len);
/* Compares memory with them.  False if no page is known to differ: if the replay began after the first hash, only pages
 * that have changed since are known. */
bool page_hashes_compare(struct page_difference *out);
