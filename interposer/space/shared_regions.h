/* The regions of memory that are mapped shared: which others show the same file or object, and who may write there.
 * Only the shared_* files of this folder use it. */
#pragma once
#include <sys/stat.h>
#include "base/spans.h"
#include "space/shared_kinds.h"

enum {
	SHARED_SMALL = 1 << 20,        /* up to this size everything is compared at every event */
	SHARED_EVERY_EVENT = 16 << 20, /* up to this size memory that others may write is */
	SHARED_TURNS = 1 << 30,        /* up to this size processes take turns for memory, and compare it at each */
};

struct region {
	union {
		struct span span;
		struct {
			uint64_t start, end;
		};
	};
	struct span of_object, of_file; /* the same range keyed by object, and by file */
	struct region *next, **link;    /* list of the regions of its kind that have a shadow */
	char *alias;                    /* the same memory mapped a second time, readable whatever the program does */
	char *shadow;                   /* contents at the last event; NULL: nobody else can change the memory */
	uint64_t dev, ino, offset;
	uint64_t file_dev, file_ino; /* as in fstat(2), which differs from the map on some file systems; 0: no file */
	uint64_t high;               /* from this offset in the file on the shadow holds zeros */
	char *frozen;                /* contents when the image was begun; NULL: the shadow has them */
	int kind;
	bool follows;    /* a private mapping: a page shows the file until the program stores there */
	bool seen;       /* other regions show all its pages: they are compared and logged in its place */
	bool mpi_writes; /* MPI writes to its file */
	bool held;       /* this process has taken its floor: what it shows since is what this process has stored */
	bool cautioned;
	bool sparse; /* untouched pages are not allocated, and zero */
};

extern struct spans region_table;
extern struct of_kind {
	uint64_t mapped, compared; /* bytes mapped; bytes with a shadow */
	struct region *first;      /* list of regions with a shadow */
} shared_of_kind[SHARED_KINDS];
/* What is known of other processes. */
extern struct sharing {
	unsigned mpi_written, followers; /* number of such regions */
	bool others_ran;                 /* since memory was last compared */
	bool keys_due;                   /* shared_keys() has more than when it was last asked */
	bool relatives;            /* after a fork, or after a descriptor was sent: other processes have our memory */
	bool forked;               /* ever */
	bool given;                /* a descriptor was sent */
	uint64_t look_ns, wait_ns; /* time of the next check for remaining relatives, and the interval */
} sharing;

enum region_how { LOOKED_AT, SEEN, FOLLOWS };

enum region_how region_how(const struct region *r);
/* Call before and after a change of what region_how() says. */
void region_unlisted(struct region *r);
void region_listed(struct region *r);
void region_set_shadow(struct region *r, char *shadow);
void region_set_mpi_writes(struct region *r);

struct region *region_at(uint64_t addr);
/* The next region that shows bytes of [from, to) of that file. */
struct region *region_of_file(const struct stat *st, const struct region *r, uint64_t from, uint64_t to);
struct object_part {
	uint64_t dev, ino;
	uint64_t from, to;
};
struct region *region_of_object(const struct object_part *o, enum region_how wanted, const struct region *r);
/* A region of that sort that shows this page of the same object. */
struct region *region_other_at(const struct region *r, uint64_t offset, enum region_how wanted);
static inline void region_shadowed(struct region *r, uint64_t off, size_t len)
{
	if (r->offset + off + len > r->high)
		r->high = r->offset + off + len;
}

static inline uint64_t region_offset_end(const struct region *r)
{
	return r->offset + (r->end - r->start);
}
/* Do others that are compared show all its pages? */
bool region_others_show_all(const struct region *r);
/* The region that is compared in place of this one at `at`, and the offset in it. */
const struct region *region_looked_at(const struct region *r, uint64_t at, uint64_t *off);

/* Can only children and receivers of a descriptor have such memory? */
bool kind_inherited(int kind);
/* Can other processes have such memory now? */
bool kind_contested(int kind);
bool region_contested(const struct region *r);
/* Can other processes of the rank have memory of this one? */
bool shared_has_relatives(void);
/* Do processes take turns for memory of this kind and size?  Of very much memory only for small pieces, those with locks
 * and semaphores. */
bool shared_takes_turns(int kind, uint64_t size);
bool region_takes_turns(const struct region *r);

/* Bytes that are compared, and how many of them others may write. */
struct shared_sizes {
	uint64_t all, contested;
};
struct shared_sizes shared_sizes(void);
bool kind_at_every_event(int kind, struct shared_sizes sum);
bool region_at_every_event(const struct region *r, struct shared_sizes sum);
