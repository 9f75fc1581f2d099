/* The memory map of the upper half. */
#pragma once
#include "base/lower.h"
#include "base/spans.h"
#include "space/maps.h"

/* Calls fn for every mapping of the upper half except the gate, lowest first.  Stops at the first nonzero return and
 * returns it; -errno if /proc/self/maps cannot be read. */
int arena_each(int (*fn)(const struct mapping *m, void *arg), void *arg);
/* Likewise for the mappings that overlap [start, end); they are passed whole. */
int arena_each_in(uint64_t start, uint64_t end, int (*fn)(const struct mapping *m, void *arg), void *arg);
/* The mapping that holds addr.  False: there is none. */
bool arena_mapping_at(uint64_t addr, struct mapping *out);

static inline bool page_is_zero(const uint64_t *p)
{
	for (unsigned i = 0; i < RDB_PAGE / 8; i += 8)
		if (p[i] | p[i + 1] | p[i + 2] | p[i + 3] | p[i + 4] | p[i + 5] | p[i + 6] | p[i + 7])
			return false;
	return true;
}

/* The address of the next `len` bytes (page multiple); low: below 2 GiB for MAP_32BIT.  0: full. */
uint64_t arena_take(size_t len, bool low);
/* The address that the kernel would try first for the hint of mmap(2); 0: none. */
uint64_t arena_hinted(uint64_t hint, size_t len, bool low);
/* The program has chosen this range itself: arena_take() avoids it. */
void arena_chosen(uint64_t start, uint64_t end);

/* Hash of the contents of all readable mappings of the upper half, by page and address.  Pages of zeros do not count,
 * so untouched pages make no difference. 0 on error (said on stderr). */
uint64_t arena_hash(void);
/* Likewise; calls `page` for each page that is not zero, lowest first. */
uint64_t arena_hash_pages(void (*page)(uint64_t addr, uint64_t hash));

/* Private file mappings of the upper half: the bytes of a stored file that they show. */
struct file_mapping {
	union {
		struct span span;
		struct {
			uint64_t start, end;
		};
	};
	struct span of_file; /* the same range, keyed by file */
	uint64_t offset;     /* in the file */
	char key[160];       /* in the job's store */
	uint64_t dev, ino;   /* of the file itself, as fstat(2) has it; 0: not known */
	int64_t changed_ns;  /* its mtime when it was mapped */
	uint32_t openings;   /* for writing, by others of the rank, that are known (followed.h) */
	bool text;           /* executable */
	bool read_only;      /* mapped shared, through a descriptor that cannot write */
};
void arena_file_mapped(const struct file_mapping *f);
/* The mapping there was made shared, but nobody can write to it. */
void arena_file_read_only(uint64_t at);
/* The first mapping that shows bytes of [start, end), or the next one after f. */
struct file_mapping *arena_file_next(const struct file_mapping *f, uint64_t start, uint64_t end);
/* Calls fn for each mapping of that file. */
void arena_files_of(uint64_t dev, uint64_t ino, void (*fn)(const struct file_mapping *f, void *arg), void *arg);
void arena_unmapped(uint64_t start, uint64_t end);
/* The file mapping that holds addr, or NULL. */
const struct file_mapping *arena_file_at(uint64_t addr);

static inline void mappings_no_memory(void)
{
	rdb_fatal("out of memory for the list of the program's mappings");
}
