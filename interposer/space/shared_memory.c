#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <linux/magic.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include "space/dirty.h"
#include "space/aliases.h"
#include "space/arena.h"
#include "space/cautions.h"
#include "space/ends.h"
#include "space/followed.h"
#include "space/shared_kinds.h"
#include "space/shared_memory.h"
#include "log/stamp.h"
#include "space/rank_dir.h"
#include "space/sole_owner.h"
#include "base/descriptors.h"
#include "base/fnv.h"
#include "base/spans.h"
#include "base/table.h"
#include "space/store.h"

enum {
	BATCH = 64 << 10,
	WINDOW = 2 << 20,       /* size of the steps in the search for touched memory */
	SMALL = 1 << 20,        /* up to this size everything is compared at every event */
	EVERY_EVENT = 16 << 20, /* up to this size memory that others may write is */
	LINE = 64,
	CAUTIONS = 16, /* number of cautions for single regions */
	LINES = 64,    /* lines that are logged even if unchanged */
	FEW_PAGES = 16 * RDB_PAGE,
	FEW_BYTES = 256, /* larger changes are data, not flags that processes wait for */
};
#define COPIES 0x200000000000l /* used if it is free */
/* Time from a fork to the first check whether the child still has the memory; longest time between later checks */
static const uint64_t SOON_NS = 50 * 1000000ul, LATER_NS = 2000 * 1000000ul;

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
	char *frozen;                /* contents when the image was begun; NULL: the shadow has them */
	int kind;
	bool follows;    /* a private mapping: a page shows the file until the program stores there */
	bool seen;       /* other regions show all its pages: they are compared and logged in its place */
	bool mpi_writes; /* MPI writes to its file */
	bool cautioned;
	bool sparse; /* untouched pages are not allocated, and zero */
};

static void later(struct span *s, uint64_t by);
static void added(struct span *s);
static void taken(struct span *s);

static struct spans regions = {.size = sizeof(struct region), .later = later, .added = added, .taken = taken};
/* objects: the kinds of regions of an object have separate trees (in_tree). files: without regions that are `seen`. */
static struct spans objects, files;
static struct kind {
	uint64_t mapped, compared; /* bytes mapped; bytes with a shadow */
	struct region *first;      /* list of regions with a shadow */
} kinds[SHARED_KINDS];
static unsigned mpi_written, followers; /* number of such regions */
unsigned shared_regions;
static bool others_ran; /* since memory was last compared */
static bool keys_due;   /* shared_keys() has more than when it was last asked */
static bool relatives;  /* after a fork, or after a descriptor was sent: other processes have our memory */
static bool forked;     /* ever */
static bool given;      /* a descriptor was sent */
static struct {
	uint64_t at_ns, wait_ns; /* time of the next check for remaining relatives, and the interval */
} left;
static uint64_t buffer[BATCH / 8];

/* Lines with small changes.  A semaphore that this program has raised and another process has lowered since the last
 * event has its old value; a replay, which has only raised it, must be told. */
static struct {
	uint64_t at[LINES];
	unsigned n;
} counters;

/* Shadows of unmapped regions: the record of the event is still made from them. */
struct retired {
	char *begin;
	size_t len;
};
static struct table retired;
static uint64_t retired_at; /* the last event when they were retired */

static void drop_retired(void)
{
	if (retired_at == lower.event)
		return;
	while (retired.len) {
		retired.len -= sizeof(struct retired);
		const struct retired *r = (void *)(retired.base + retired.len);
		munmap(r->begin, r->len);
	}
}

static void no_memory(void)
{
	rdb_fatal("no memory for the list of the program's mappings");
}

void shared_retire(char *begin, size_t len)
{
	if (!recording()) {
		munmap(begin, len);
		return;
	}
	drop_retired();
	if (table_add(&retired, &(struct retired){begin, len}, sizeof(struct retired)))
		no_memory();
	retired_at = lower.event;
}

static void later(struct span *s, uint64_t by)
{
	struct region *r = (struct region *)s;
	r->alias += by;
	r->offset += by;
	if (r->shadow)
		r->shadow += by;
}

static void linked(struct region *r)
{
	struct kind *k = &kinds[r->kind];
	k->compared += r->end - r->start;
	r->next = k->first;
	r->link = &k->first;
	if (r->next)
		r->next->link = &r->next;
	k->first = r;
}

static void unlinked(struct region *r)
{
	kinds[r->kind].compared -= r->end - r->start;
	*r->link = r->next;
	if (r->next)
		r->next->link = r->link;
}

enum how { LOOKED_AT, SEEN, FOLLOWS };

static enum how how(const struct region *r)
{
	return r->follows ? FOLLOWS : r->seen ? SEEN : LOOKED_AT;
}

static uint64_t in_tree(uint64_t dev, uint64_t ino, enum how how)
{
	return span_of_file(dev, ino) ^ (uint64_t)how << 62;
}

static void listed(struct region *r)
{
	const uint64_t end = r->offset + (r->end - r->start);
	r->of_object = (struct span){.start = r->offset, .end = end, .of = in_tree(r->dev, r->ino, how(r))};
	r->of_file = (struct span){.start = r->offset, .end = end, .of = span_of_file(r->file_dev, r->file_ino)};
	spans_add(&objects, &r->of_object);
	if (!r->seen)
		spans_add(&files, &r->of_file);
}

static void unlisted(struct region *r)
{
	spans_take(&objects, &r->of_object);
	if (!r->seen)
		spans_take(&files, &r->of_file);
}

static bool can_inherit(int kind)
{
	return kind == SHARED_ANONYMOUS || kind == SHARED_NAMELESS;
}

static bool contested_kind(int kind)
{
	return kind == SHARED_SYSV || kind == SHARED_NAMED || (relatives && can_inherit(kind));
}

/* Can other processes of the rank have memory of this one? */
static bool has_relatives(void)
{
	return forked || rank_dir_below();
}

/* Memory for which processes take turns is compared at each of them.  Of much memory only small pieces are: those with
 * locks and semaphores. */
static bool small_enough(uint64_t size)
{
	uint64_t all = 0;
	for (int k = 0; k < SHARED_KINDS; k++)
		all += contested_kind(k) ? kinds[k].mapped : 0;
	return size <= SMALL || all <= EVERY_EVENT;
}

static bool takes_turns(const struct region *r)
{
	return contested_kind(r->kind) && small_enough(r->end - r->start);
}

static void added(struct span *s)
{
	struct region *r = (struct region *)s;
	shared_regions++;
	kinds[r->kind].mapped += s->end - s->start;
	keys_due |= takes_turns(r) && has_relatives();
	mpi_written += r->mpi_writes;
	followers += r->follows;
	listed(r);
	if (r->shadow)
		linked(r);
}

static void taken(struct span *s)
{
	struct region *r = (struct region *)s;
	shared_regions--;
	kinds[r->kind].mapped -= s->end - s->start;
	mpi_written -= r->mpi_writes;
	followers -= r->follows;
	unlisted(r);
	if (r->shadow)
		unlinked(r);
}

static void set_shadow(struct region *r, char *shadow)
{
	if (r->shadow)
		unlinked(r);
	r->shadow = shadow;
	if (shadow)
		linked(r);
}

static void set_mpi_writes(struct region *r)
{
	mpi_written += !r->mpi_writes;
	r->mpi_writes = true;
}

/* The next region that shows bytes of [from, to) of that file. */
static struct region *next_of_file(const struct stat *st, const struct region *r, uint64_t from, uint64_t to)
{
	struct span *s = r ? (struct span *)&r->of_file : NULL;
	while (st->st_ino && (s = spans_next(&files, s, span_of_file(st->st_dev, st->st_ino), from, to))) {
		struct region *found = (struct region *)((char *)s - offsetof(struct region, of_file));
		if (found->file_ino == st->st_ino && found->file_dev == st->st_dev)
			return found;
	}
	return NULL;
}

struct object_part {
	uint64_t dev, ino;
	uint64_t from, to;
};

static struct region *next_of_object(const struct object_part *o, enum how wanted, const struct region *r)
{
	struct span *s = r ? (struct span *)&r->of_object : NULL;
	while ((s = spans_next(&objects, s, in_tree(o->dev, o->ino, wanted), o->from, o->to))) {
		struct region *found = (struct region *)((char *)s - offsetof(struct region, of_object));
		if (found->ino == o->ino && found->dev == o->dev && how(found) == wanted)
			return found;
	}
	return NULL;
}

/* A region of that sort that shows this page of the same object. */
static struct region *other_at(const struct region *r, uint64_t offset, enum how wanted)
{
	const struct object_part page = {r->dev, r->ino, offset, offset + RDB_PAGE};
	struct region *o = next_of_object(&page, wanted, NULL);
	while (o && o->kind != r->kind)
		o = next_of_object(&page, wanted, o);
	return o;
}

static uint64_t offset_end(const struct region *r)
{
	return r->offset + (r->end - r->start);
}

static bool others_show_all(const struct region *r)
{
	const struct region *o;
	uint64_t at = r->offset;
	while (at < offset_end(r) && (o = other_at(r, at, LOOKED_AT)))
		at = offset_end(o);
	return at >= offset_end(r);
}

/* The region that is compared in place of this one at `at`, and the offset in it. */
static const struct region *looked_at_for(const struct region *r, uint64_t at, uint64_t *off)
{
	const uint64_t offset = r->offset + (at - r->start);
	const struct region *o = r->seen ? other_at(r, offset, LOOKED_AT) : r;
	*off = offset - o->offset;
	return o;
}

static bool contested(const struct region *r)
{
	return contested_kind(r->kind);
}

/* Bytes that are compared, and how many of them others may write. */
struct sizes {
	uint64_t all, contested;
};

static struct sizes sizes(void)
{
	struct sizes sum = {0};
	for (int k = 0; k < SHARED_KINDS; k++) {
		sum.all += kinds[k].compared;
		sum.contested += contested_kind(k) ? kinds[k].compared : 0;
	}
	return sum;
}

static bool kind_at_every_event(int kind, struct sizes sum)
{
	return sum.all <= SMALL || (contested_kind(kind) && sum.contested <= EVERY_EVENT);
}

static bool every_event(const struct region *r, struct sizes sum)
{
	return r->mpi_writes || kind_at_every_event(r->kind, sum);
}

/* Bytes beyond the end of the file count as zero. */
static void fetch(const struct region *r, uint64_t off, void *to, size_t len)
{
	struct iovec l = {to, len}, from = {r->alias + off, len};
	long got = raw_syscall(SYS_process_vm_readv, lower.pid, (long)&l, 1, (long)&from, 1, 0);
	size_t n = got < 0 ? 0 : (size_t)got;
	if (n < len && r->kind == SHARED_SYSV) { /* the program may have made it unreadable */
		int fd = descriptor_open(AT_FDCWD, "/proc/thread-self/mem", O_RDONLY | O_CLOEXEC, 0);
		got = fd < 0 ? fd : pread(fd, (char *)to + n, len - n, (off_t)(r->alias + off + n));
		if (got < 0 || (n += (size_t)got) < len)
			rdb_fatal("shared memory at %#lx cannot be read", (unsigned long)(r->start + off));
		close(fd);
	}
	memset((char *)to + n, 0, len - n);
}

static char *zero_memory(size_t len)
{
	static long next = COPIES; /* placed one after the other, so the kernel merges them: the number of mappings is
				    * limited */
	long p = raw_syscall(SYS_mmap, next, (long)len, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p < 0)
		rdb_fatal("out of memory for a copy of %zu bytes of shared memory", len);
	next = p + (long)((len + RDB_PAGE - 1) & ~(RDB_PAGE - 1));
	return (char *)p;
}

static size_t batch_at(const struct region *r, uint64_t off)
{
	uint64_t left = r->end - r->start - off;
	return left < BATCH ? left : BATCH;
}

static bool resident(const char *memory, size_t len)
{
	unsigned char pages[WINDOW / RDB_PAGE];
	return raw_syscall(SYS_mincore, (long)memory, (long)len, (long)pages, 0, 0, 0) ||
	       memchr(pages, 1, len / RDB_PAGE);
}

static const char zeros[WINDOW];

static bool untouched(const struct region *r, uint64_t off, size_t len)
{
	if (resident(r->alias + off, len))
		return false;
	return !r->shadow || !resident(r->shadow + off, len) || !memcmp(r->shadow + off, zeros, len);
}

/* The first batch from `off` on that may have been touched.  Reading untouched batches would allocate memory.
 * mincore(2) does not distinguish swapped pages from untouched ones, so the search is off while swap is in use. */
static uint64_t touched(const struct region *r, uint64_t off)
{
	const uint64_t size = r->end - r->start;
	struct sysinfo info;
	if (!r->sparse || raw_syscall(SYS_sysinfo, (long)&info, 0, 0, 0, 0, 0) || info.totalswap != info.freeswap)
		return off;
	while (off < size) {
		const uint64_t left = size - off, window = left < WINDOW ? left : WINDOW;
		uint64_t len = off % WINDOW ? batch_at(r, off) : window;
		if (len > BATCH && !untouched(r, off, len))
			len = BATCH;
		if (len <= BATCH && !untouched(r, off, len))
			break;
		off += len;
	}
	return off;
}

/* Keeps the nonzero lines of a page. */
static void keep_lines(uint64_t page, const char *bytes)
{
	for (unsigned off = 0; off < RDB_PAGE; off += LINE) {
		unsigned i = 0;
		while (i < counters.n && counters.at[i] != page + off)
			i++;
		if (i == counters.n && i < LINES && memcmp(bytes + off, zeros, LINE))
			counters.at[counters.n++] = page + off;
	}
}

/* Notes its own pages, which a replay needs to make aliases (aliases.h). */
static void note_follows(struct event *ev, const struct region *r)
{
	bool own[BATCH / RDB_PAGE];
	uint64_t n = 0, *pages = (uint64_t *)zero_memory(sizeof(struct rdb_note_follows) +
							 (r->end - r->start) / RDB_PAGE * 16);
	struct rdb_note_follows *note = (void *)pages;
	*note = (struct rdb_note_follows){{r->start, r->end, r->dev, r->ino, r->offset, (uint64_t)r->kind}};
	pages = (uint64_t *)(note + 1);
	for (uint64_t off = 0; off < r->end - r->start; off += BATCH) {
		aliases_own_pages(r->start + off, batch_at(r, off) / RDB_PAGE, own);
		for (uint64_t p = 0; p < batch_at(r, off) / RDB_PAGE; p++) {
			const uint64_t at = r->start + off + p * RDB_PAGE;
			if (!own[p])
				continue;
			if (!n || pages[n - 1] != at) {
				pages[n++] = at;
				pages[n++] = at;
			}
			pages[n - 1] = at + RDB_PAGE;
		}
	}
	event_note(ev, RDB_NOTE_FOLLOWS, note, sizeof(*note) + n * 8);
	munmap(note, sizeof(*note) + (r->end - r->start) / RDB_PAGE * 16);
}

/* A copy of the region's own pages, valid until the event ends. */
static char *copy_own(const struct region *r)
{
	bool own[BATCH / RDB_PAGE];
	char *copy = zero_memory(r->end - r->start);
	/* reads regardless of protection */
	int fd = descriptor_open(AT_FDCWD, "/proc/thread-self/mem", O_RDONLY | O_CLOEXEC, 0);
	for (uint64_t off = 0; off < r->end - r->start; off += BATCH) {
		aliases_own_pages(r->start + off, batch_at(r, off) / RDB_PAGE, own);
		for (uint64_t p = 0; p < batch_at(r, off) / RDB_PAGE; p++) {
			const uint64_t at = off + p * RDB_PAGE;
			if (own[p] && pread(fd, copy + at, RDB_PAGE, (off_t)(r->start + at)) != (ssize_t)RDB_PAGE)
				rdb_fatal("private memory at %#lx cannot be read", (unsigned long)(r->start + at));
		}
	}
	close(fd);
	shared_retire(copy, r->end - r->start);
	return copy;
}

/* Copies the memory to the shadow; with an event, logs what is not zero as notes. */
static void copy_all(struct region *r, struct event *ev)
{
	uint64_t noted = 0; /* end of the last note */
	bool own[BATCH / RDB_PAGE] = {false};
	char *mine = ev && r->follows ? copy_own(r) : NULL;
	if (!r->shadow)
		set_shadow(r, zero_memory(r->end - r->start));
	for (uint64_t off = touched(r, 0); off < r->end - r->start; off = touched(r, off + BATCH)) {
		size_t n = batch_at(r, off);
		fetch(r, off, buffer, n);
		if (mine)
			aliases_own_pages(r->start + off, n / RDB_PAGE, own);
		for (size_t p = 0; p < n; p += RDB_PAGE) {
			char *page = (char *)buffer + p, *shadow = r->shadow + off + p;
			uint64_t addr = r->start + off + p;
			if (own[p / RDB_PAGE]) {
				memcpy(shadow, page, RDB_PAGE);
				shadow = mine + off + p;
			} else if (!memcmp(page, zeros, RDB_PAGE) && !memcmp(shadow, zeros, RDB_PAGE))
				continue;
			else
				memcpy(shadow, page, RDB_PAGE);
			if (r->end - r->start <= FEW_PAGES && how(r) == LOOKED_AT)
				keep_lines(addr, shadow);
			if (!ev)
				continue;
			if (addr != noted)
				event_note(ev, RDB_NOTE_AT, &addr, sizeof(addr));
			event_chunk_from(ev, 0, RDB_NOTE_BYTES, shadow, RDB_PAGE);
			noted = addr + RDB_PAGE;
		}
	}
}

static unsigned said;
static struct {
	bool due;       /* memory was mapped since the last look */
	uint64_t at_ns; /* the earliest time of the next look, by shared_clock_ns() */
} outsiders;
static const struct region *asked_for;

static bool is_asked_for(uint64_t dev, uint64_t ino)
{
	return asked_for->dev == dev && asked_for->ino == ino;
}

/* Processes that are not recorded, or of other ranks, may have it: they do not take turns with this one. */
static bool may_have_outsiders(const struct region *r)
{
	return contested(r) && !r->cautioned && (given || lower.opt.no_children || !can_inherit(r->kind));
}

static void say(struct region *r, const char *whose)
{
	static const char *const names[] = {"anonymous memory", "a file without a name", "a file made to be shared",
					    "System V shared memory", "a file"};
	r->cautioned = true;
	if (said == CAUTIONS)
		caution("more shared memory may be written by processes outside this rank");
	if (++said > CAUTIONS)
		return;
	caution("shared memory at %#lx-%#lx (%s) may be written by %s: a replay may differ from here on if the program "
		"reads it between two events",
		(unsigned long)r->start, (unsigned long)r->end, names[r->kind], whose);
}

static const char outside[] = "processes outside this rank";

static void be_cautious(struct region *r)
{
	outsiders.due |= may_have_outsiders(r);
	if (r->mpi_writes && !r->cautioned) {
		r->cautioned = true;
		caution("a file that is mapped at %#lx-%#lx is open for writing through MPI: a replay may differ if "
			"the program reads the mapping before its own write is complete, or while other ranks write",
			(unsigned long)r->start, (unsigned long)r->end);
	}
	if (lower.opt.no_children && may_have_outsiders(r) && can_inherit(r->kind))
		say(r, outside); /* its children are not recorded, and may have ended when they are looked for */
	if (contested(r) && has_relatives() && !takes_turns(r) && !r->cautioned)
		say(r, "other processes, since more than 16 MiB are shared");
}

static void look_for_outsiders_of(struct region *r)
{
	asked_for = r;
	if (may_have_outsiders(r) && !sole_owners_by_turns(is_asked_for))
		say(r, outside);
}

static bool is_of_outsiders(uint64_t dev, uint64_t ino)
{
	const struct object_part all = {dev, ino, 0, UINT64_MAX};
	for (int how = LOOKED_AT; how <= FOLLOWS; how++)
		for (struct region *r = NULL; (r = next_of_object(&all, (enum how)how, r));)
			if (may_have_outsiders(r))
				return true;
	return false;
}

void shared_look_for_outsiders(void)
{
	if (!recording() || !lower.started)
		return;
	outsiders.due = false;
	outsiders.at_ns = shared_clock_ns() + LATER_NS;
	if (sole_owners_by_turns(is_of_outsiders))
		return;
	SPANS_EACH(struct region, r, &regions)
	look_for_outsiders_of(r);
}

/* Finds the object of the mapping.  The memory map has it, but reading it takes longer the more mappings there are. */
static void name_object(struct region *made, const struct stat *st)
{
	const uint64_t dev = (uint64_t)major(st->st_dev) << 20 | minor(st->st_dev);
	const struct region *o = next_of_file(st, NULL, 0, UINT64_MAX);
	struct mapping m;
	/* not for file systems whose numbers differ in the map */
	if (o && o->dev == dev && o->ino == st->st_ino) {
		made->dev = o->dev;
		made->ino = o->ino;
	} else if (arena_mapping_at(made->start, &m)) {
		made->dev = m.dev;
		made->ino = m.inode;
		made->offset = m.offset + (made->start - m.start);
	}
}

/* The file is given by fd, or by a former region `was`. */
static struct region *new_region(struct region made, int fd, const struct region *was)
{
	struct stat st = {0};
	if (was) {
		made.dev = was->dev;
		made.ino = was->ino;
		made.file_dev = was->file_dev;
		made.file_ino = was->file_ino;
		made.mpi_writes = was->mpi_writes;
	} else if (fd >= 0 && !fstat(fd, &st)) {
		made.file_dev = st.st_dev;
		made.file_ino = st.st_ino;
		made.mpi_writes = followed_mpi_writes(&st);
	}
	if (!was)
		name_object(&made, &st);
	made.seen = !made.follows && others_show_all(&made);
	struct region *r = spans_new(&regions, &made);
	if (!r)
		no_memory();
	return r;
}

/* made: address, kind and offset in the file. */
static void adopt(struct event *ev, struct region made, int fd, const struct region *was)
{
	const uint64_t at = made.start;
	const size_t len = made.end - at;
	if (!recording())
		return;
	/* mremap(2): an old size of zero makes a second mapping of the same pages.  Not used for System V memory: its
	 * count of attachments is visible to all. */
	long alias = (long)at;
	if (made.kind != SHARED_SYSV)
		alias = raw_syscall(SYS_mremap, (long)at, 0, (long)len, MREMAP_MAYMOVE, 0, 0);
	if (alias < 0 || (alias != (long)at && raw_syscall(SYS_mprotect, alias, (long)len, PROT_READ, 0, 0, 0)))
		rdb_fatal("shared memory at %#lx cannot be mapped a second time", (unsigned long)at);
	made.alias = (char *)alias;
	struct region *r = new_region(made, fd, was);
	const struct object_part all = {r->dev, r->ino, 0, UINT64_MAX};
	for (struct region *o = NULL; ev && followers && (o = next_of_object(&all, FOLLOWS, o));)
		note_follows(ev, o);
	if (ev) {
		const struct rdb_note_shared_of of = {at, at + len, r->dev, r->ino, r->offset, (uint64_t)r->kind};
		event_note(ev, RDB_NOTE_SHARED, (uint64_t[2]){at, at + len}, 16);
		event_note(ev, RDB_NOTE_SHARED_OF, &of, sizeof(of));
	}
	copy_all(r, ev);
	if (r->seen || (r->kind == SHARED_ANONYMOUS && !relatives)) {
		shared_retire(r->shadow, len); /* no shadow needed: nobody else has it, or another region is compared */
		set_shadow(r, NULL);
	}
	be_cautious(r);
}

void shared_adopt(struct event *ev, uint64_t at, size_t len, int kind)
{
	adopt(ev, (struct region){.start = at, .end = at + len, .kind = kind}, -1, NULL);
}

static int adopt_mapped(const struct mapping *m, void *arg)
{
	int (*const *kind_of)(uint64_t start) = arg;
	forked |= m->shared; /* as the program before */
	if (m->shared)
		shared_adopt(NULL, m->start, m->end - m->start, (*kind_of)(m->start));
	return 0;
}

void shared_adopt_mapped(int (*kind_of)(uint64_t start))
{
	if (!recording())
		return;
	arena_each(adopt_mapped, &kind_of);
	if (keys_due)
		caution("until its first event this process does not take turns with others that share memory with it: a "
			"replay may differ if the program reads before what they store");
}

static int kind_of(int fd)
{
	struct stat st, shm;
	struct statfs fs;
	if (fstat(fd, &st) || fstatfs(fd, &fs))
		return SHARED_FILE;
	if (!st.st_nlink)
		return SHARED_NAMELESS;
	/* files of shm_open(3); other tmpfs files, such as those in /tmp, are ordinary */
	if (fs.f_type == TMPFS_MAGIC)
		return !stat("/dev/shm", &shm) && shm.st_dev == st.st_dev ? SHARED_NAMED : SHARED_FILE;
	return fs.f_type == HUGETLBFS_MAGIC ? SHARED_NAMED : SHARED_FILE;
}

static bool is_sparse(int flags, int fd)
{
	struct statfs fs;
	return flags & MAP_ANONYMOUS || (!fstatfs(fd, &fs) && fs.f_type == TMPFS_MAGIC);
}

bool shared_volatile(int fd)
{
	return kind_of(fd) != SHARED_FILE || (raw_syscall(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0) & O_ACCMODE) == O_RDWR;
}

void shared_mpi_writes(const struct stat *st)
{
	for (struct region *r = NULL; (r = next_of_file(st, r, 0, UINT64_MAX));) {
		if (!r->shadow)
			continue;
		set_mpi_writes(r);
		be_cautious(r);
	}
}

bool shared_is_followed(const struct stat *st)
{
	return next_of_file(st, NULL, 0, UINT64_MAX);
}

void shared_files_each(void (*fn)(uint64_t dev, uint64_t ino))
{
	SPANS_EACH(struct region, r, &regions)
	fn(r->file_dev, r->file_ino);
}

/* A second mapping of the file, which stores of the program do not change. */
static long map_file(size_t len, int fd, uint64_t offset)
{
	return raw_syscall(SYS_mmap, 0, (long)len, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, (long)offset);
}

long shared_map(struct event *ev, uint64_t at, size_t len, int prot, int flags, int fd, uint64_t offset)
{
	const bool follows = flags & MAP_PRIVATE;
	const long alias = follows ? map_file(len, fd, offset) : 0;
	if (alias < 0)
		return alias;
	long rc = raw_syscall(SYS_mmap, (long)at, (long)len, prot, flags | MAP_FIXED | MAP_NORESERVE, fd, (long)offset);
	if (rc < 0) {
		if (follows)
			munmap((void *)alias, len);
		return rc;
	}
	shared_unmapped(at, at + len);
	arena_unmapped(at, at + len);
	struct region made = {.start = at, .end = at + len, .offset = offset, .follows = follows};
	if (!follows) {
		followed_mapped(ev, fd);
		const bool anonymous = flags & MAP_ANONYMOUS;
		made.kind = anonymous ? SHARED_ANONYMOUS : kind_of(fd);
		made.sparse = is_sparse(flags, fd);
		adopt(ev, made, anonymous ? -1 : fd, NULL);
		return 0;
	}
	made.alias = (char *)alias;
	made.kind = kind_of(fd);
	struct region *r = new_region(made, fd, NULL);
	note_follows(ev, r);
	copy_all(r, ev);
	be_cautious(r);
	return 0;
}

struct tail {
	const struct file_mapping *f;
	uint64_t start;
	int fd;
};

static int map_tail(const struct mapping *m, void *arg)
{
	const struct tail *t = arg;
	const uint64_t start = m->start > t->start ? m->start : t->start, end = m->end < t->f->end ? m->end : t->f->end;
	if (start >= end)
		return 0;
	int prot = m->prot;
	ends_at(start, &prot);
	const long rc = raw_syscall(SYS_mmap, (long)start, (long)(end - start), prot,
				    MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, t->fd,
				    (long)(t->f->offset + (start - t->f->start)));
	return rc < 0 ? (int)rc : 0;
}

void shared_follow(struct event *ev, const struct file_mapping *f, int fd)
{
	const size_t len = f->end - f->start;
	const long alias = map_file(len, fd, f->offset);
	struct stat st;
	const int stored = store_open(f->key);
	if (alias < 0 || stored < 0 || fstat(stored, &st))
		rdb_fatal("rdb cannot track changes of the file that is mapped at %#lx", (unsigned long)f->start);
	const struct region made = {.start = f->start,
				    .end = f->end,
				    .offset = f->offset,
				    .alias = (char *)alias,
				    .kind = kind_of(fd),
				    .follows = true};
	struct region *r = new_region(made, fd, NULL);
	dirty_unwatch(f->start, f->end);
	/* the shadow is what a replay has: the stored copy, and zeros beyond its end */
	const uint64_t size = (uint64_t)st.st_size, left = size > f->offset ? size - f->offset : 0;
	set_shadow(r, zero_memory(len));
	if (left && pread(stored, r->shadow, left < len ? left : len, (off_t)f->offset) < 0)
		rdb_fatal("rdb cannot track changes of the file that is mapped at %#lx", (unsigned long)f->start);
	close(stored);
	/* replace the zeros beyond the former end of the file */
	struct tail tail = {f, f->start + ((left + RDB_PAGE - 1) & ~(RDB_PAGE - 1)), fd};
	if (arena_each_in(tail.start, f->end, map_tail, &tail))
		rdb_fatal("rdb cannot track changes of the file that is mapped at %#lx", (unsigned long)f->start);
	ends_of_file(f->start, f->end);
	note_follows(ev, r);
	be_cautious(r);
}

/* `was` begins with the same page of the file. */
static void note_new(struct event *ev, uint64_t at, size_t len, const struct region *was, long alias)
{
	const struct region made = {.start = at,
				    .end = at + len,
				    .offset = was->offset,
				    .alias = (char *)alias,
				    .kind = was->kind,
				    .follows = true};
	struct region *r = new_region(made, -1, was);
	note_follows(ev, r);
	copy_all(r, ev);
}

/* A second mapping of the region's first pages. */
static long second_alias(const struct region *r, size_t len)
{
	return raw_syscall(SYS_mremap, (long)r->alias, 0, (long)len, MREMAP_MAYMOVE, 0, 0);
}

long shared_move(struct event *ev, uint64_t old, size_t old_len, uint64_t at, size_t new_len, bool keep)
{
	struct region was = *(const struct region *)spans_at(&regions, old);
	later(&was.span, old - was.start); /* makes it begin at `old` */
	if (!was.follows) {
		long rc = raw_syscall(SYS_mremap, (long)old, (long)old_len, (long)new_len,
				      MREMAP_MAYMOVE | MREMAP_FIXED, (long)at, 0);
		if (rc < 0)
			return rc;
		shared_unmapped(at, at + new_len);
		if (old_len)
			shared_unmapped(old, old + old_len);
		const struct region made = {
			.start = at, .end = at + new_len, .offset = was.offset, .kind = was.kind, .sparse = was.sparse};
		adopt(ev, made, -1, &was);
		return 0;
	}
	const long alias = second_alias(&was, new_len), left = keep ? second_alias(&was, old_len) : 0;
	long rc = alias < 0 ? alias : left < 0 ? left : 0;
	if (!rc)
		rc = raw_syscall(SYS_mremap, (long)old, (long)old_len, (long)new_len,
				 MREMAP_MAYMOVE | MREMAP_FIXED | (keep ? MREMAP_DONTUNMAP : 0), (long)at, 0);
	if (rc < 0) {
		if (alias > 0)
			munmap((void *)alias, new_len);
		if (left > 0)
			munmap((void *)left, old_len);
		return rc;
	}
	shared_unmapped(at, at + new_len);
	shared_unmapped(old, old + old_len);
	arena_unmapped(old, old + old_len);
	if (keep) /* the old place shows the file again */
		note_new(ev, old, old_len, &was, left);
	note_new(ev, at, new_len, &was, alias);
	return 0;
}

/* From now on r itself is compared, in place of `last`.  Its shadow is taken from those that were compared for it. */
static void look_at(struct region *r, const struct region *last)
{
	char *shadow = last->shadow ? zero_memory(r->end - r->start) : NULL;
	for (uint64_t at = r->start; shadow && at < r->end; at += RDB_PAGE) {
		const uint64_t offset = r->offset + (at - r->start);
		const struct region *o = offset >= last->offset && offset < offset_end(last)
						 ? last
						 : other_at(r, offset, LOOKED_AT);
		const char *was = o->shadow + (offset - o->offset);
		if (memcmp(was, zeros, RDB_PAGE))
			memcpy(shadow + (at - r->start), was, RDB_PAGE);
	}
	for (unsigned i = 0; i < counters.n; i++) {
		const uint64_t offset = last->offset + (counters.at[i] - last->start);
		if (counters.at[i] >= last->start && counters.at[i] < last->end && offset >= r->offset &&
		    offset < offset_end(r))
			counters.at[i] = r->start + (offset - r->offset);
	}
	unlisted(r);
	r->seen = false;
	listed(r);
	set_shadow(r, shadow);
	if (last->mpi_writes)
		set_mpi_writes(r);
}

/* Regions that `last` was compared for are now compared themselves. */
static void look_at_others(const struct region *last)
{
	const struct object_part part = {last->dev, last->ino, last->offset, offset_end(last)};
	for (uint64_t at = part.from; at < part.to;) {
		struct region *r = other_at(last, at, LOOKED_AT), *o;
		if (!r && (r = other_at(last, at, SEEN)))
			look_at(r, last);
		if (r) {
			at = offset_end(r);
			continue;
		}
		const struct object_part rest = {part.dev, part.ino, at, part.to};
		o = next_of_object(&rest, SEEN, NULL);
		while (o && o->kind != last->kind)
			o = next_of_object(&rest, SEEN, o);
		at = o ? o->offset : part.to;
	}
}

static void gone(struct span *part, void *arg)
{
	struct region *r = (struct region *)part;
	if (outsiders.due && recording()) /* a library that only reads another's entry unmaps it at once */
		look_for_outsiders_of(r);
	if (how(r) == LOOKED_AT)
		look_at_others(r);
	if (r->kind != SHARED_SYSV)
		munmap(r->alias, part->end - part->start);
	if (r->shadow)
		shared_retire(r->shadow, part->end - part->start);
}

void shared_unmapped(uint64_t start, uint64_t end)
{
	aliases_gone(start, end);
	if (spans_cut(&regions, start, end, gone, NULL))
		no_memory();
}

static struct region *region_at(uint64_t addr)
{
	return spans_at(&regions, addr);
}

uint64_t shared_detached(uint64_t start)
{
	const struct region *r = region_at(start);
	const uint64_t end = r && r->start == start ? r->end : 0;
	if (end)
		shared_unmapped(start, end);
	return end;
}

bool shared_at(uint64_t addr)
{
	return region_at(addr);
}

bool shared_contested(uint64_t start, uint64_t end)
{
	SPANS_IN(struct region, r, &regions, start, end)
	if (contested(r))
		return true;
	return false;
}

int shared_kind_at(uint64_t addr)
{
	const struct region *r = region_at(addr);
	return r ? r->kind : SHARED_FILE;
}

void shared_note_parts(struct event *ev, uint64_t start, uint64_t end)
{
	SPANS_IN(struct region, r, &regions, start, end)
	event_note(ev, RDB_NOTE_SHARED, (uint64_t[2]){r->start, r->end}, 16);
}

static void log_lines(struct event *ev, const struct region *r)
{
	for (unsigned i = 0; i < counters.n; i++)
		if (counters.at[i] >= r->start && counters.at[i] < r->end)
			event_chunk_from(ev, counters.at[i], RDB_NOTE_SHARED, r->shadow + (counters.at[i] - r->start),
					 LINE);
}

static void log_page(struct event *ev, uint64_t addr, const char *page, char *shadow, bool follows)
{
	size_t first = 0, last = RDB_PAGE - 8;
	while (!memcmp(page + first, shadow + first, 8))
		first += 8;
	while (!memcmp(page + last, shadow + last, 8))
		last -= 8;
	memcpy(shadow + first, page + first, last + 8 - first);
	event_chunk_from(ev, addr + first, RDB_NOTE_SHARED, shadow + first, last + 8 - first);
	if (last - first < FEW_BYTES && !follows)
		keep_lines(addr, shadow);
}

static bool is_own(const struct region *r, uint64_t at)
{
	bool own[BATCH / RDB_PAGE];
	aliases_own_pages(at, 1, own);
	return own[0];
}

/* MPI may write while the mappings of a file are compared one after the other: all get what the last comparison saw, as
 * in a replay, where they are one page. */
static void seen_last(struct event *ev, const struct region *r, uint64_t off, const char *page)
{
	const struct stat st = {.st_dev = r->file_dev, .st_ino = r->file_ino};
	const uint64_t from = r->offset + off;
	for (struct region *o = NULL; r->mpi_writes && (o = next_of_file(&st, o, from, from + RDB_PAGE));) {
		const uint64_t at = from - o->offset;
		if (o == r || !o->mpi_writes || !memcmp(page, o->shadow + at, RDB_PAGE))
			continue;
		if (!o->follows || !is_own(o, o->start + at))
			log_page(ev, o->start + at, page, o->shadow + at, o->follows);
	}
}

static const struct file_part whole = {0, UINT64_MAX};

/* part: the part of the file to compare. all: log all pages, because the program's own pages in a private mapping may
 * be gone. */
static void sync_region(struct event *ev, struct region *r, struct file_part part, bool all)
{
	bool own[BATCH / RDB_PAGE] = {false};
	uint64_t off = touched(r, part.from > r->offset ? (part.from - r->offset) / BATCH * BATCH : 0);
	for (; off < r->end - r->start && r->offset + off < part.to; off = touched(r, off + BATCH)) {
		size_t n = batch_at(r, off);
		fetch(r, off, buffer, n);
		if (!all && !memcmp(buffer, r->shadow + off, n))
			continue;
		if (r->follows)
			aliases_own_pages(r->start + off, n / RDB_PAGE, own);
		for (size_t p = 0; p < n; p += RDB_PAGE) {
			char *now = (char *)buffer + p, *shadow = r->shadow + off + p;
			if (own[p / RDB_PAGE])
				continue;
			if (all) {
				memcpy(shadow, now, RDB_PAGE);
				event_chunk_from(ev, r->start + off + p, RDB_NOTE_SHARED, shadow, RDB_PAGE);
			} else if (memcmp(now, shadow, RDB_PAGE)) {
				log_page(ev, r->start + off + p, now, shadow, r->follows);
			}
			seen_last(ev, r, off + p, shadow);
		}
	}
}

struct syncing {
	struct event *ev;
	struct sizes sum;
	const struct stat *wrote; /* the file that the call has written to; NULL: unknown */
	struct file_part part;
};

static void sync_one(const struct syncing *s, struct region *r, bool always)
{
	const bool any = contested(r);
	sync_region(s->ev, r, always || any ? whole : s->part,
		    r->follows && shared_call_drops_pages(s->ev, r->start, r->end));
	if (any)
		log_lines(s->ev, r);
}

static void sync_kind(const struct syncing *s, int kind)
{
	const bool always = kind_at_every_event(kind, s->sum), any = contested_kind(kind);
	const bool all = always || ((any || !s->wrote) && shared_call_synchronises(s->ev, any));
	for (struct region *r = all || mpi_written || (any && others_ran) ? kinds[kind].first : NULL; r; r = r->next)
		if (all || r->mpi_writes || (others_ran && takes_turns(r)))
			sync_one(s, r, always || r->mpi_writes);
	if (all || !s->wrote)
		return;
	for (struct region *r = NULL; (r = next_of_file(s->wrote, r, s->part.from, s->part.to));)
		if (r->shadow && r->kind == kind && !r->mpi_writes)
			sync_one(s, r, false);
}

void shared_sync_before(struct event *ev)
{
	if (!recording() || !lower.started)
		return;
	drop_retired();
	if (!shared_regions)
		return;
	const struct sizes now = sizes();
	ev->looks_ns = now.contested ? stamp_at(stamp_counter()) : 0;
	struct stat st;
	const int fd = shared_call_wrote(ev);
	const struct stat *wrote = fd >= 0 && !fstat(fd, &st) ? &st : NULL;
	const struct syncing s = {ev, now, wrote, wrote ? shared_call_part(ev, fd) : whole};
	for (int kind = 0; kind < SHARED_KINDS; kind++)
		sync_kind(&s, kind);
	others_ran = false;
}

/* A replay makes the program's stores since the last event itself.  The call may undo them, so that no difference would
 * be seen afterwards: log them before. */
void shared_before_write(struct event *ev)
{
	if (!recording() || !lower.started || !shared_regions || !shared_call_synchronises(ev, false))
		return;
	struct stat st;
	const int fd = shared_call_writes_to(ev);
	drop_retired();
	if (fd >= 0 && !fstat(fd, &st)) {
		const struct file_part part = shared_call_part(ev, fd);
		for (struct region *r = NULL; (r = next_of_file(&st, r, part.from, part.to));)
			if (r->shadow)
				sync_region(ev, r, part, false);
		return;
	}
	for (int kind = 0; kind < SHARED_KINDS; kind++)
		for (struct region *r = kinds[kind].first; r; r = r->next)
			sync_region(ev, r, whole, false);
}

uint64_t shared_clock_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static bool is_inheritable(uint64_t dev, uint64_t ino)
{
	const struct object_part all = {dev, ino, 0, UINT64_MAX};
	const struct region *r = next_of_object(&all, LOOKED_AT, NULL);
	if (!r)
		r = next_of_object(&all, FOLLOWS, NULL);
	return r && can_inherit(r->kind);
}

/* Children that have ended or run another program write no more. Checking saves comparing much memory at every
 * event.  Before its end a child may have stored what the event's comparison has not seen: it is made again. */
static void look_for_relatives(struct event *ev)
{
	const uint64_t bytes = kinds[SHARED_ANONYMOUS].mapped + kinds[SHARED_NAMELESS].mapped;
	if (bytes <= SMALL || shared_clock_ns() < left.at_ns)
		return;
	relatives = !sole_owner(is_inheritable);
	for (int kind = 0; kind < SHARED_KINDS && !relatives; kind++)
		for (struct region *r = can_inherit(kind) ? kinds[kind].first : NULL; r; r = r->next)
			sync_region(ev, r, whole, false);
	left.wait_ns = left.wait_ns < LATER_NS ? left.wait_ns * 2 : left.wait_ns;
	left.at_ns = shared_clock_ns() + left.wait_ns;
}

void shared_sync(struct event *ev)
{
	if (ev->asked_ns && sizes().contested && shared_clock_ns() > ev->asked_ns + SHARED_QUICK_NS)
		event_note(ev, RDB_NOTE_ASKED, &ev->asked_ns, sizeof(ev->asked_ns));
	if (!shared_call_changes_map(ev))
		shared_sync_before(ev);
	if (outsiders.due && shared_clock_ns() > outsiders.at_ns)
		shared_look_for_outsiders();
	if (relatives && !given && recording() && lower.started && !shared_call_changes_map(ev))
		look_for_relatives(ev);
	if (!given && shared_call_gives_away(ev)) {
		relatives = given = true;
		keys_due = has_relatives();
		sole_owner_passed();
		SPANS_EACH(struct region, r, &regions)
		be_cautious(r);
	}
}

static void turns_due(void)
{
	SPANS_EACH(struct region, r, &regions)
	keys_due |= takes_turns(r);
}

void shared_before_fork(void)
{
	forked = relatives = true;
	turns_due();
	left.wait_ns = SOON_NS;
	left.at_ns = shared_clock_ns() + SOON_NS;
	if (!recording())
		return;
	SPANS_EACH(struct region, r, &regions)
	{
		if (!r->shadow && !r->seen)
			copy_all(r, NULL);
		be_cautious(r);
	}
}

bool shared_forked(void)
{
	turns_due();
	return keys_due;
}

void shared_in_child(void)
{
	said = 0;
	outsiders.at_ns = 0;
	SPANS_EACH(struct region, r, &regions)
	{
		r->cautioned = false;
		be_cautious(r);
		if (!r->seen)
			copy_all(r, NULL);
	}
}

uint64_t shared_followed_until(uint64_t at)
{
	const struct region *r = region_at(at);
	return r && r->follows ? r->end : 0;
}

bool shared_within(uint64_t start, uint64_t end)
{
	return spans_next(&regions, NULL, 0, start, end);
}

bool shared_page(uint64_t at, void *page)
{
	const struct region *r = region_at(at);
	if (!r)
		return false;
	uint64_t off;
	const struct region *looked = looked_at_for(r, at, &off);
	if (r->follows && is_own(r, at))
		memcpy(page, (const void *)at, RDB_PAGE);
	else if (looked->shadow && every_event(looked, sizes()))
		memcpy(page, looked->shadow + off, RDB_PAGE);
	else
		fetch(looked, off, page, RDB_PAGE);
	return true;
}

uint64_t shared_zero_until(uint64_t at)
{
	const struct region *r = region_at(at);
	if (!r)
		return at;
	uint64_t off;
	const struct region *looked = looked_at_for(r, at, &off);
	const uint64_t zero = touched(looked, off) - off, left = r->end - at;
	return at + (zero < left ? zero : left);
}

const void *shared_as_logged(uint64_t at)
{
	const struct region *r = region_at(at);
	if (!r || (r->follows && is_own(r, at)))
		return NULL;
	uint64_t off;
	const struct region *looked = looked_at_for(r, at, &off);
	const char *bytes = looked->frozen ? looked->frozen : looked->shadow;
	return bytes ? bytes + off : NULL;
}

static void freeze(struct region *r)
{
	r->frozen = zero_memory(r->end - r->start);
	for (uint64_t off = touched(r, 0); off < r->end - r->start; off = touched(r, off + BATCH)) {
		const size_t n = batch_at(r, off);
		fetch(r, off, buffer, n);
		if (memcmp(buffer, zeros, n))
			memcpy(r->frozen + off, buffer, n);
	}
}

void shared_freeze(void)
{
	const struct sizes sum = sizes();
	SPANS_EACH(struct region, r, &regions)
	if (!r->seen && (!r->shadow || !every_event(r, sum)))
		freeze(r);
}

void shared_restore(void)
{
	SPANS_EACH(struct region, r, &regions)
	{
		if (r->frozen)
			munmap(r->frozen, r->end - r->start);
		r->frozen = NULL;
	}
}

bool shared_hashable(void)
{
	return sizes().contested <= EVERY_EVENT;
}

/* Updates the shadow.  True: it was up to date. */
static bool refresh(struct region *r)
{
	bool same = true;
	for (uint64_t off = touched(r, 0); off < r->end - r->start; off = touched(r, off + BATCH)) {
		const size_t n = batch_at(r, off);
		fetch(r, off, buffer, n);
		if (!memcmp(buffer, r->shadow + off, n))
			continue;
		memcpy(r->shadow + off, buffer, n);
		same = false;
	}
	return same;
}

static uint64_t key(uint64_t dev, uint64_t ino)
{
	return fnv1a(fnv1a(FNV_BEGIN, &dev, sizeof(dev)), &ino, sizeof(ino)) | 1;
}

static bool recorded_with_others(void)
{
	return recording() && lower.started && has_relatives();
}

uint64_t shared_key_of_segment(int id, size_t len)
{
	return recorded_with_others() && small_enough(len) ? key(0, (uint64_t)id) : 0;
}

uint64_t shared_key_of_file(int fd)
{
	struct stat st;
	const bool there = recorded_with_others() && contested_kind(kind_of(fd)) && !fstat(fd, &st);
	return there && small_enough((uint64_t)st.st_size) ? key(st.st_dev, st.st_ino) : 0;
}

unsigned shared_keys(uint64_t *keys, unsigned most)
{
	unsigned n = 0;
	for (int kind = 0; kind < SHARED_KINDS; kind++)
		for (const struct region *r = contested_kind(kind) ? kinds[kind].first : NULL; r && n < most;
		     r = r->next)
			if (takes_turns(r)) /* without a file: the kernel's number, in System V memory the id */
				keys[n++] = r->file_ino ? key(r->file_dev, r->file_ino) : key(0, r->ino);
	keys_due = false;
	return n;
}

bool shared_keys_due(void)
{
	return keys_due;
}

void shared_settle(void)
{
	if (others_ran)
		return; /* the program has not run since, and what they stored is still to be logged */
	for (int kind = 0; kind < SHARED_KINDS; kind++)
		for (struct region *r = contested_kind(kind) ? kinds[kind].first : NULL; r; r = r->next)
			if (takes_turns(r))
				refresh(r);
}

void shared_others_ran(void)
{
	others_ran = true;
}

bool shared_hashable_at_end(void)
{
	bool known = sizes().contested == 0;
	/* a difference is a store of the program itself or, in a file, of another process */
	for (int kind = 0; kind < SHARED_KINDS; kind++)
		for (struct region *r = kinds[kind].first; known && r; r = r->next)
			known = refresh(r) || can_inherit(kind);
	return known;
}
