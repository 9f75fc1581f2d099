#include "answer/unknown_maps.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/table.h"
#include "log/log_reader.h"
#include "space/arena.h"
#include "space/ends.h"
#include "answer/memory_calls.h"
#include "space/mapping.h"
#include "space/shared_memory.h"
#include "base/descriptors.h"
#include "answer/ioctls.h"

enum { DESCRIPTORS = 1024, GONE = -1 };

/* Contents of a note of the event. */
struct note {
	uint64_t start, end;
	int32_t prot; /* GONE: nothing is mapped there any more */
	bool anew, taken;
};

static struct {
	struct table before, after;
	uint64_t had[DESCRIPTORS / 64];
	uint64_t taken; /* new address of the memory that the call has mapped; 0: not moved */
} maps;

static int look_at(const char *line, void *t)
{
	const struct mapping m = maps_parse(line);
	return table_add(t, &m, sizeof(m)) ? -ENOMEM : 0;
}

static void look(struct table *t)
{
	t->len = 0;
	const int fd = descriptor_open(AT_FDCWD, "/proc/self/maps", O_RDONLY, 0);
	const int rc = fd < 0 ? fd : maps_lines(fd, look_at, t);
	if (rc)
		rdb_fatal("/proc/self/maps: %s", strerror(-rc));
	close(fd);
}

/* What brk(2) counts from has changed with the map: by whole pages, as the C library asks. */
static void heap_follows(uint64_t start, uint64_t end, bool gone)
{
	uint64_t *brk = &lower.upper.brk;
	if (start < RDB_BRK || end > RDB_BRK_END)
		return;
	if (gone ? start < *brk : end > *brk)
		*brk = gone ? start : end;
}

static bool is_open(int fd)
{
	return raw_syscall(SYS_fcntl, fd, F_GETFD, 0, 0, 0, 0) >= 0;
}

void unknown_maps_before(void)
{
	memset(maps.had, 0, sizeof(maps.had));
	for (int fd = 0; fd < DESCRIPTORS && fd < lower.lowest_fd; fd++)
		maps.had[fd / 64] |= (uint64_t)is_open(fd) << fd % 64;
	/* the tables must have grown before the call, so that their own memory is already in them */
	size_t cap;
	do {
		cap = maps.before.cap + maps.after.cap;
		look(&maps.before);
		for (maps.after.len = 0; maps.after.cap < 2 * maps.before.len + sizeof(struct mapping);)
			if (table_add(&maps.after, maps.before.base, maps.before.len))
				rdb_fatal("out of memory");
	} while (cap != maps.before.cap + maps.after.cap);
}

/* The mapping that holds this address, or the next one; NULL: none. */
static const struct mapping *from(const struct table *t, uint64_t at)
{
	const struct mapping *r = (const void *)t->base, *end = (const void *)(t->base + t->len);
	while (r < end && r->end <= at)
		r++;
	return r < end ? r : NULL;
}

/* Moves memory that the kernel has mapped in the lower half's range to the program's range. */
static void take(struct event *ev)
{
	const uint64_t at = (uint64_t)ev->result;
	const struct mapping *r = from(&maps.after, at), *was = from(&maps.before, at);
	if (at % RDB_PAGE || RDB_IS_UPPER(at) || at >= 1ull << 47 || !r || r->start > at || (was && was->start <= at))
		return;
	const uint64_t len = (was && was->start < r->end ? was->start : r->end) - at, to = arena_take(len, false);
	const long rc = to ? raw_syscall(SYS_mremap, (long)at, (long)len, (long)len, MREMAP_MAYMOVE | MREMAP_FIXED,
					 (long)to, 0)
			   : -ENOMEM;
	if (rc < 0)
		rdb_fatal("system call %u has mapped %lu bytes at %#lx, and rdb cannot move them to where a replay "
			  "can map them: %s",
			  ev->nr, (unsigned long)len, (unsigned long)at, strerror((int)-rc));
	ev->result = (int64_t)(maps.taken = to);
	look(&maps.after);
}

static bool same(const struct mapping *a, const struct mapping *b)
{
	return (!a && !b) || (a && b && a->prot == b->prot && a->inode == b->inode && a->shared == b->shared);
}

static const struct mapping *at_of(const struct table *t, uint64_t at, uint64_t *until)
{
	const struct mapping *r = from(t, at);
	const uint64_t next = !r ? RDB_UPPER_END : r->start > at ? r->start : r->end;
	*until = next < *until ? next : *until;
	return r && r->start <= at ? r : NULL;
}

static void forget(uint64_t start, uint64_t end)
{
	arena_unmapped(start, end);
	shared_unmapped(start, end);
	ends_gone(start, end);
	memory_remapped(start, end - start);
}

/* Replaces a private mapping of a file by a copy of its present contents, as a replay has it.  Returns where the file
 * ends. */
static uint64_t own(uint64_t start, uint64_t end, int prot)
{
	const size_t len = end - start;
	size_t inside = 0;
	uint8_t *copy = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int mem = descriptor_open(AT_FDCWD, "/proc/thread-self/mem", O_RDONLY | O_CLOEXEC, 0); /* reads regardless of
											 * protection */
	while (copy != MAP_FAILED && inside < len &&
	       pread(mem, copy + inside, RDB_PAGE, (off_t)(start + inside)) == (ssize_t)RDB_PAGE)
		inside += RDB_PAGE;
	if (copy == MAP_FAILED || mem < 0 || memory_map_zero(start, len, PROT_READ | PROT_WRITE))
		rdb_fatal("the file that is mapped at %#lx cannot be copied", (unsigned long)start);
	memcpy((void *)start, copy, inside);
	munmap(copy, len);
	close(mem);
	if (raw_syscall(SYS_mprotect, (long)start, (long)len, prot, 0, 0, 0))
		rdb_fatal("memory at %#lx cannot be protected", (unsigned long)start);
	if (inside < len)
		ends_add(start + inside, end, prot);
	return start + inside;
}

static void note(struct event *ev, uint64_t start, uint64_t end, const struct mapping *was, const struct mapping *now,
		 bool content)
{
	const struct note one = {.start = start,
				 .end = end,
				 .prot = now ? now->prot : GONE,
				 .anew = now && (!was || was->inode != now->inode),
				 .taken = now && start == maps.taken};
	if (!now || one.anew)
		forget(start, end);
	else
		ends_protected(start, end, now->prot);
	if (now)
		arena_chosen(start, end);
	if (!now || one.anew)
		heap_follows(start, end, !now);
	event_note(ev, RDB_NOTE_MAPPED, &one, sizeof(one));
	if (one.anew && now->inode && !now->shared) {
		end = own(start, end, now->prot);
		content |= end < one.end;
	}
	if (one.anew && content && may_be_read(start, end - start))
		event_out(ev, (void *)start, end - start);
}

static struct table at_first, at_last;

void map_changes_begin(void)
{
	look(&at_first);
}

int map_changes(int (*fn)(const struct map_change *c))
{
	int rc = 0;
	look(&at_last);
	for (uint64_t at = 0, until; !rc && at < RDB_UPPER_END; at = until) {
		until = RDB_UPPER_END;
		const struct mapping *was = at_of(&at_first, at, &until), *now = at_of(&at_last, at, &until);
		const bool text = (was && was->prot & PROT_EXEC) || (now && now->prot & PROT_EXEC); /* our stubs, too */
		if (!RDB_IS_UPPER(at) || same(was, now) || text || (now && (now->shared || now->inode)) ||
		    (at >= RDB_SCRATCH && at < RDB_SCRATCH_END))
			continue;
		rc = fn(&(struct map_change){at, until, now ? now->prot : GONE, now && (!was || was->inode)});
	}
	return rc;
}

void map_change_make(struct event *ev, const struct map_change *c)
{
	const size_t len = c->end - c->start;
	const struct mapping now = {.start = c->start, .end = c->end, .prot = c->prot};
	const long rc = c->prot == GONE ? munmap((void *)c->start, len)
			: c->anew       ? memory_map_zero(c->start, len, c->prot)
					: raw_syscall(SYS_mprotect, (long)c->start, (long)len, c->prot, 0, 0, 0);
	if (rc)
		rdb_fatal("memory at %#lx cannot be changed as a child (vfork) has changed it",
			  (unsigned long)c->start);
	note(ev, c->start, c->end, c->anew ? NULL : &now, c->prot == GONE ? NULL : &now, false);
}

bool unknown_maps_after(struct event *ev, bool content)
{
	bool shared = false;
	maps.taken = 0;
	look(&maps.after);
	take(ev);
	for (uint64_t at = 0, until; at < RDB_UPPER_END; at = until) {
		until = RDB_UPPER_END;
		const struct mapping *was = at_of(&maps.before, at, &until), *now = at_of(&maps.after, at, &until);
		if (!RDB_IS_UPPER(at) || same(was, now))
			continue;
		note(ev, at, until, was, now, content);
		shared |= now && now->shared;
	}
	uint32_t made[DESCRIPTORS];
	unsigned n = 0;
	for (int fd = 0; fd < DESCRIPTORS && fd < lower.lowest_fd; fd++)
		if (!(maps.had[fd / 64] >> fd % 64 & 1) && is_open(fd))
			made[n++] = (uint32_t)fd;
	if (n)
		event_note(ev, RDB_NOTE_MADE, made, n * sizeof(made[0]));
	return shared;
}

/* ---- replay ---- */

void unknown_maps_recorded(const struct log_chunk *c)
{
	const struct note *one = (const void *)(c + 1);
	const size_t len = one->end - one->start;
	if (one->prot != GONE && !one->anew)
		return;
	forget(one->start, one->end);
	heap_follows(one->start, one->end, one->prot == GONE);
	if (one->taken) /* before anything is mapped there */
		arena_take(len, false);
	if (one->prot == GONE)
		munmap((void *)one->start, len);
	else if (memory_map_zero(one->start, len, PROT_READ | PROT_WRITE))
		rdb_fatal("memory at %#lx cannot be mapped", (unsigned long)one->start);
	else
		arena_chosen(one->start, one->end);
}

void unknown_maps_protect(const struct log_record *rec)
{
	for (const struct log_chunk *c = NULL; (c = log_chunk_next(rec, c));) {
		const struct note *one = (const void *)(c + 1);
		if (c->addr || c->note != RDB_NOTE_MAPPED || one->prot == GONE)
			continue;
		raw_syscall(SYS_mprotect, (long)one->start, (long)(one->end - one->start), one->prot, 0, 0, 0);
		ends_protected(one->start, one->end, one->prot);
		memory_remapped(one->start, one->end - one->start);
	}
}
