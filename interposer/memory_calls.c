#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "arena.h"
#include "boundary.h"
#include "instructions.h"
#include "memory_calls.h"
#include "meta.h"
#include "replay.h"
#include "replica.h"
#include "store.h"

#define A(i) (ev->args[i])
#define UP(x) (((x) + RDB_PAGE - 1) & ~(RDB_PAGE - 1))
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { ALIASES = 8 };
static struct {
	char path[512], asked[512];
} aliases[ALIASES];
static unsigned naliases;

static bool from_log(void)
{
	return lower.started && replaying();
}

/* Breakpoints in memory that is replaced. */
static void remapped(uint64_t at, size_t len)
{
	if (lower.started && lower.mode == MODE_REPLICA)
		agent_remapped(at, at + len);
}

static long map_at(uint64_t at, size_t len, int prot, int flags, int fd, uint64_t offset)
{
	return raw_syscall(SYS_mmap, (long)at, (long)len, prot, flags | MAP_FIXED, fd, (long)offset);
}

static long map_zero(uint64_t at, size_t len, int prot)
{
	long rc = map_at(at, len, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	/* a replica is forked again and again, which costs by the page; refusal only makes it slower */
	if (rc >= 0 && lower.mode == MODE_REPLICA)
		raw_syscall(SYS_madvise, (long)at, (long)len, MADV_HUGEPAGE, 0, 0, 0);
	return rc < 0 ? rc : 0;
}

void memory_alias(const char *path, const char *asked)
{
	for (unsigned i = 0; i < naliases; i++)
		if (!strcmp(aliases[i].path, path))
			return;
	if (naliases == ALIASES || strlen(path) >= sizeof(aliases[0].path) || strlen(asked) >= sizeof(aliases[0].asked))
		rdb_fatal("%s: too many redirected libraries, or too long a name", asked);
	strcpy(aliases[naliases].path, path);
	strcpy(aliases[naliases++].asked, asked);
}

/* The path by which the program knows a file. */
static const char *asked_for(const char *path)
{
	for (unsigned i = 0; i < naliases; i++)
		if (!strcmp(aliases[i].path, path))
			return aliases[i].asked;
	return path;
}

long memory_map_stored(uint64_t at, size_t len, int prot, const char *key, uint64_t offset)
{
	struct stat st;
	int fd = store_open(key);
	if (fd < 0)
		return fd;
	long rc = fstat(fd, &st) ? -errno : 0;
	/* beyond the end of the file a page cannot be read: zero memory stands in */
	size_t inside = rc || (uint64_t)st.st_size <= offset ? 0 : UP((uint64_t)st.st_size - offset);
	if (inside > len)
		inside = len;
	if (!rc && inside)
		rc = map_at(at, inside, prot, MAP_PRIVATE, fd, offset);
	if (rc >= 0)
		rc = len > inside ? map_zero(at + inside, len - inside, prot) : 0;
	close(fd);
	if (rc < 0)
		return rc;
	arena_file_mapped(at, at + len, offset, key);
	/* writable: an image is being restored, whose pages hold the patches already */
	if ((prot & PROT_EXEC) && !(prot & PROT_WRITE))
		instructions_look(at, inside, key);
	return 0;
}

long memory_map_file(uint64_t at, size_t len, int prot, int fd, uint64_t offset, char *key)
{
	char link[32], path[4096];
	struct stat st;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENODEV;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return -errno;
	path[n] = 0;
	size_t inside = (uint64_t)st.st_size <= offset ? 0 : UP((uint64_t)st.st_size - offset);
	if (inside > len)
		inside = len;
	long rc = inside ? map_at(at, inside, prot, MAP_PRIVATE, fd, offset) : 0;
	if (rc >= 0 && len > inside)
		rc = map_zero(at + inside, len - inside, prot);
	if (rc < 0 || lower.mode != MODE_RECORD)
		return rc < 0 ? rc : 0;
	int err = store_add(fd, path, key);
	if (err)
		rdb_fatal("%s: cannot be copied into %s: %s", path, lower.opt.files_dir, strerror(-err));
	meta_log_file(key, asked_for(path));
	arena_file_mapped(at, at + len, offset, key);
	if (prot & PROT_EXEC)
		instructions_look(at, inside, key);
	return 0;
}

static long map_recorded(struct event *ev, uint64_t at, size_t len, int prot)
{
	size_t n;
	const char *key = replay_note(RDB_NOTE_FILE, &n);
	char text[160];
	if (!key || n >= sizeof(text))
		return map_zero(at, len, prot);
	memcpy(text, key, n);
	text[n] = 0;
	return memory_map_stored(at, len, prot, text, A(5));
}

static bool is_dev_zero(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode);
}

long memory_mmap(struct event *ev, ucontext_t *uc)
{
	size_t len = UP(A(1));
	int prot = (int)A(2), flags = (int)A(3), fd = (int)A(4);
	bool anonymous = flags & MAP_ANONYMOUS;
	uint64_t at = A(0);
	if (!len)
		return -EINVAL;
	if (from_log() && ev->result < 0 && ev->result > -4096)
		return ev->result;
	if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) {
		if (at & (RDB_PAGE - 1) || at >= RDB_ARENA_END || len > RDB_ARENA_END - at)
			return -EINVAL;
		if (flags & MAP_FIXED_NOREPLACE) {
			long probe = raw_syscall(SYS_mmap, (long)at, (long)len, PROT_NONE,
						 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
			if (probe < 0)
				return probe;
		}
	} else {
		at = arena_take(len, flags & MAP_32BIT);
		if (!at)
			return -ENOMEM;
	}
	if ((flags & MAP_SHARED) && !anonymous && (prot & PROT_WRITE) && !from_log() && lower.started)
		rdb_fatal("the program maps a file shared and writable: not supported yet");
	long rc;
	char key[160];
	if (from_log()) {
		rc = map_recorded(ev, at, len, prot);
	} else if (anonymous || is_dev_zero(fd)) {
		rc = map_zero(at, len, prot);
	} else {
		rc = memory_map_file(at, len, prot, fd, A(5), key);
		if (!rc && lower.mode == MODE_RECORD && lower.started)
			event_note(ev, RDB_NOTE_FILE, key, strlen(key));
	}
	if (rc)
		return rc;
	if (anonymous)
		arena_unmapped(at, at + len);
	remapped(at, len);
	return (long)at;
}

static bool upper_range(uint64_t at, size_t len)
{
	return at < RDB_ARENA_END && len <= RDB_ARENA_END - at;
}

long memory_munmap(struct event *ev, ucontext_t *uc)
{
	size_t len = UP(A(1));
	if (A(0) & (RDB_PAGE - 1) || !len || !upper_range(A(0), len))
		return -EINVAL;
	arena_unmapped(A(0), A(0) + len);
	remapped(A(0), len);
	/* through the libc, so that an MPI's registration cache sees it */
	return munmap((void *)A(0), len) ? -errno : 0;
}

long memory_mprotect(struct event *ev, ucontext_t *uc)
{
	size_t len = UP(A(1));
	if (!upper_range(A(0), len))
		return -ENOMEM;
	long rc = raw_syscall(SYS_mprotect, (long)A(0), (long)len, (long)A(2), 0, 0, 0);
	const struct file_mapping *f = arena_file_at(A(0));
	if (!rc && (A(2) & PROT_EXEC) && (A(2) & PROT_READ) && f)
		instructions_look(A(0), len, f->key);
	return rc;
}

struct protection {
	uint64_t at;
	int prot;
};

static int find_protection(const struct mapping *m, void *arg)
{
	struct protection *p = arg;
	if (p->at < m->start || p->at >= m->end)
		return 0;
	p->prot = m->prot;
	return 1;
}

long memory_mremap(struct event *ev, ucontext_t *uc)
{
	uint64_t old = A(0), at;
	size_t old_len = UP(A(1)), new_len = UP(A(2));
	if (old & (RDB_PAGE - 1) || !new_len || !old_len || !upper_range(old, old_len))
		return -EINVAL;
	if (!(A(3) & MREMAP_FIXED) && new_len <= old_len) {
		if (new_len < old_len)
			munmap((void *)(old + new_len), old_len - new_len);
		arena_unmapped(old + new_len, old + old_len);
		return (long)old;
	}
	if (!(A(3) & MREMAP_MAYMOVE))
		return -ENOMEM;
	at = A(3) & MREMAP_FIXED ? A(4) : arena_take(new_len, false);
	if (!at || !upper_range(at, new_len))
		return -ENOMEM;
	if (!from_log())
		return raw_syscall(SYS_mremap, (long)old, (long)old_len, (long)new_len, MREMAP_MAYMOVE | MREMAP_FIXED,
				   (long)at, 0);
	/* memory may be backed by the image here: growing it would show the image's next bytes */
	struct protection p = {.at = old};
	if (arena_each(find_protection, &p) != 1)
		return -EFAULT;
	long rc = map_zero(at, new_len, PROT_READ | PROT_WRITE);
	if (rc)
		return rc;
	memcpy((void *)at, (const void *)old, old_len < new_len ? old_len : new_len);
	if (p.prot != (PROT_READ | PROT_WRITE))
		mprotect((void *)at, new_len, p.prot);
	munmap((void *)old, old_len);
	remapped(old, old_len);
	remapped(at, new_len);
	return (long)at;
}

struct discard {
	uint64_t from, to;
};

/* MADV_DONTNEED: private anonymous memory becomes zero, a private file mapping shows the file again. */
static int discard(const struct mapping *m, void *arg)
{
	struct discard *d = arg;
	uint64_t from = m->start > d->from ? m->start : d->from;
	uint64_t to = m->end < d->to ? m->end : d->to;
	while (from < to) {
		const struct file_mapping *f = arena_file_at(from);
		uint64_t end = f && f->end < to ? f->end : to;
		long rc;
		if (f) {
			struct file_mapping copy = *f;
			rc = memory_map_stored(from, end - from, m->prot, copy.key, copy.offset + (from - copy.start));
		} else {
			rc = map_zero(from, end - from, m->prot);
		}
		if (rc)
			return (int)rc;
		from = end;
	}
	return 0;
}

long memory_madvise(struct event *ev, ucontext_t *uc)
{
	size_t len = UP(A(1));
	if (!upper_range(A(0), len) || A(0) & (RDB_PAGE - 1))
		return -EINVAL;
	if (A(2) == 8 /* MADV_FREE */)
		return 0; /* the pages stay: as if memory had never run short */
	if (A(2) != MADV_DONTNEED)
		return from_log() ? ev->result : raw_syscall(SYS_madvise, (long)A(0), (long)len, (long)A(2), 0, 0, 0);
	if (!from_log())
		return raw_syscall(SYS_madvise, (long)A(0), (long)len, MADV_DONTNEED, 0, 0, 0);
	struct discard d = {.from = A(0), .to = A(0) + len};
	arena_each(discard, &d);
	return ev->result;
}

long memory_brk(struct event *ev, ucontext_t *uc)
{
	struct upper_state *u = &lower.upper;
	uint64_t want = A(0), old_end = UP(u->brk), new_end = UP(want);
	if (want < RDB_BRK || want > RDB_BRK_END)
		return (long)u->brk;
	if (new_end > old_end && map_zero(old_end, new_end - old_end, PROT_READ | PROT_WRITE))
		return (long)u->brk;
	if (new_end < old_end)
		munmap((void *)new_end, old_end - new_end);
	u->brk = want;
	return (long)want;
}

/* It would lock our own memory too, most of which is address space only; pages locked or not hold the same. */
long memory_mlockall(struct event *ev, ucontext_t *uc)
{
	return ev->nr == SYS_mlockall && (!A(0) || A(0) & ~7ul) ? -EINVAL : 0;
}

/* No key is ever given out (pkey_alloc); -1 is plain mprotect. */
long memory_pkey_mprotect(struct event *ev, ucontext_t *uc)
{
	return (int)A(3) == -1 ? memory_mprotect(ev, uc) : -EINVAL;
}
