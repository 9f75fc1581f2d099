/* What a process says of the memory that it shares, in a file of the branch: shared-NUMBER. */
#ifndef RDB_SHARED_TOLD_H
#define RDB_SHARED_TOLD_H
#include <stdint.h>

enum { TOLD_REGIONS = 256 };

struct told_region {
	uint64_t start, end;
	uint64_t dev, ino, offset; /* which memory, while it was recorded */
	uint32_t kind;             /* enum shared_kind */
	uint32_t removed;          /* of System V: nobody can find it any more */
	uint64_t known;            /* of System V: by which number the program knows it */
	uint32_t again;            /* it is opened by its name later */
	uint32_t file;             /* this process has a copy of the file (mapped_files.h) */
};

struct told_head {
	uint32_t n, fresh;   /* fresh: it had looked at all of it then */
	uint32_t late, none; /* late: it has looked after the cut, as a process does that begins there */
	uint64_t at_ns;      /* when it held what the views say */
	uint64_t stores;     /* where those begin in the file; before it, the views, one after the other */
	uint64_t stores_len; /* struct told_store, each with its bytes */
	struct told_region regions[TOLD_REGIONS];
};

/* Bytes that it has stored: after its last event before the cut, and not before its next one; or what it has found
 * there, or stored, before the cut: it tells others whose stores had happened. */
enum told_kind { TOLD_OPEN, TOLD_LATER, TOLD_SEEN };

struct told_store {
	uint32_t region, kind;
	uint64_t at, len;
	uint64_t at_ns; /* seen: when; else when it had asked for what came next, later than all if that is not known */
};

static inline uint64_t told_store_size(const struct told_store *s)
{
	return sizeof(*s) + ((s->len + 7) & ~7ul);
}

/* shared_merge.c: the whole of one kind of memory, from what all processes told.  Its size; *bytes is malloc'd. */
uint64_t shared_merged(uint64_t dev, uint64_t ino, uint8_t **bytes);
/* Of that process; NULL: it shares nothing. */
const struct told_head *shared_told(unsigned number);
/* The lowest number of a process that has it, if there is, with a copy of the file: it makes it. */
unsigned shared_maker(uint64_t dev, uint64_t ino);

#endif
