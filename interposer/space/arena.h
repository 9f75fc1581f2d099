/* The memory map of the upper half. */
#ifndef RDB_ARENA_H
#define RDB_ARENA_H
#include "base/lower.h"

struct mapping {
	uint64_t start, end;
	int prot; /* PROT_* */
	bool shared;
	bool anonymous;
	uint64_t offset;
	uint64_t dev, inode;
};

/* Calls fn for every mapping of the upper half, lowest first, without the gate.  Stops at the first
 * nonzero return and gives it back; -errno if /proc/self/maps cannot be read. */
int arena_each(int (*fn)(const struct mapping *m, void *arg), void *arg);
/* The mapping that holds addr.  False: there is none. */
bool arena_mapping_at(uint64_t addr, struct mapping *out);

/* The address of the next `len` bytes (page multiple); low: below 2 GiB for MAP_32BIT.  0: full. */
uint64_t arena_take(size_t len, bool low);
/* Where the kernel would look first for `len` bytes if a program hints at `hint` (mmap(2)); 0: nowhere. */
uint64_t arena_hinted(uint64_t hint, size_t len, bool low);
/* A program has chosen this place itself: arena_take passes it by. */
void arena_chosen(uint64_t start, uint64_t end);

/* Hash of the contents of all readable mappings of the upper half, by page and address; pages of zeros
 * do not count, so it does not depend on what has been touched.  0 on error (said on stderr). */
uint64_t arena_hash(void);
/* The same; `page` hears of each page that is not zero, lowest first. */
uint64_t arena_hash_pages(void (*page)(uint64_t addr, uint64_t hash));

/* Private file mappings of the upper half: which bytes of which stored file they show. */
struct file_mapping {
	uint64_t start, end;
	uint64_t offset;   /* in the file */
	char key[160];     /* in the job's store */
	uint64_t dev, ino; /* of the file itself, as fstat(2) has it; 0: not known */
	bool text;         /* instructions are run there */
	bool read_only;    /* mapped shared, through a descriptor that cannot write */
};
void arena_file_mapped(uint64_t start, uint64_t end, uint64_t offset, const char *key);
/* The one that arena_file_mapped() has just made, while recording. */
struct file_mapping *arena_file_made(void);
void arena_files_each(void (*fn)(uint64_t dev, uint64_t ino));
/* Calls fn for each mapping of that file. */
void arena_files_of(uint64_t dev, uint64_t ino, void (*fn)(const struct file_mapping *f, void *arg), void *arg);
void arena_unmapped(uint64_t start, uint64_t end);
/* The file mapping that holds addr, or NULL. */
const struct file_mapping *arena_file_at(uint64_t addr);

#endif
