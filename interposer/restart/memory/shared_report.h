/* What a process reports of the memory that it shares, in a file of the branch: shared-NUMBER. */
#pragma once
#include <stdint.h>

struct reported_region {
	uint64_t start, end;
	uint64_t dev, ino, offset; /* identity of the memory in the recording */
	uint32_t kind;             /* enum shared_kind */
	uint32_t removed;          /* a System V segment that is removed: no process can find it any more */
	uint64_t known;            /* number by which the program knows a System V segment */
	uint32_t again;            /* it is opened again by its name later */
	uint32_t file;             /* this process has a copy of the file (mapped_files.h) */
};

struct reported_head {
	uint32_t n, fresh;   /* fresh: the process had looked at all of it then */
	uint32_t late, none; /* late: the process has looked after the cut, as one does that begins there */
	uint64_t at_ns;      /* time of the views */
	uint64_t stores;     /* offset of the stores in the file; before them are the views, one after the other */
	uint64_t stores_len; /* struct reported_store, each with its bytes */
};

/* The regions follow the head in the file; the views follow them. */
static inline const struct reported_region *reported_regions(const struct reported_head *h)
{
	return (const struct reported_region *)(h + 1);
}

/* Kinds of stores.  OPEN: made after the process's last event before the cut, and before its next one.  LATER: made
 * after that.  SEEN: found there, or stored, before the cut; it tells other processes whose stores had happened. */
enum told_kind { TOLD_OPEN, TOLD_LATER, TOLD_SEEN };

struct reported_store {
	uint32_t region, kind;
	uint64_t at, len;
	uint64_t at_ns; /* SEEN: when; else time of its next question; UINT64_MAX: not known */
};

static inline uint64_t reported_store_size(const struct reported_store *s)
{
	return sizeof(*s) + ((s->len + 7) & ~7ul);
}

/* shared_merge.c: a whole memory, from the reports of all processes.  Returns its size; *bytes is malloc'd. */
uint64_t shared_merged(uint64_t dev, uint64_t ino, uint8_t **bytes);
/* The report of a process; NULL: it shares nothing. */
const struct reported_head *shared_report(unsigned number);
/* The process that makes the memory: the lowest number that has it, of those with a copy of the file if there are
 * any. */
unsigned shared_maker(uint64_t dev, uint64_t ino);
