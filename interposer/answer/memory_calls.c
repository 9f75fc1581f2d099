#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <linux/magic.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "arch/machine.h"
#include "arch/registers.h"
#include "task/envoy.h"
#include "space/arena.h"
#include "crossing/boundary.h"
#include "space/device_memory.h"
#include "space/ends.h"
#include "space/mapping.h"
#include "space/followed.h"
#include "crossing/hot_sites.h"
#include "answer/fork_advice.h"
#include "answer/instructions.h"
#include "answer/made_text.h"
#include "answer/hook_calls.h"
#include "answer/memory_calls.h"
#include "answer/memory_limits.h"
#include "answer/memory_use.h"
#include "log/meta.h"
#include "log/log_reader.h"
#include "answer/shared_calls.h"
#include "space/shared_kinds.h"
#include "space/shared_memory.h"
#include "space/shared_sync.h"
#include "space/shared_turns.h"
#include "space/store.h"

#define A(i) (ev->args[i])
#define USER_END 0x7ffffffff000ul /* TASK_SIZE_MAX */
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

void memory_other_bytes(uint64_t at, size_t len)
{
	device_memory_gone(at, at + len);
	if (lower.started && lower.mode->remapped)
		lower.mode->remapped(at, at + len); /* breakpoints there */
}

void memory_remapped(uint64_t at, size_t len)
{
	fork_advice_forget(at, at + len);
	memory_other_bytes(at, len);
}

/* The protection has changed, or memory was mapped where there was none. */
static void reprotected(uint64_t at, size_t len)
{
	if (lower.started && lower.mode->reprotected)
		lower.mode->reprotected(at, at + len);
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
const char *memory_asked_for(const char *path)
{
	for (unsigned i = 0; i < naliases; i++)
		if (!strcmp(aliases[i].path, path))
			return aliases[i].asked;
	return path;
}

/* Examines the instructions of a file mapping that is executable. */
static void look(uint64_t at, size_t len, int prot, int fd, uint64_t offset, const char *name)
{
	struct stat st;
	if (fstat(fd, &st) || (uint64_t)st.st_size <= offset)
		return;
	if (len > UP((uint64_t)st.st_size - offset))
		len = UP((uint64_t)st.st_size - offset);
	instructions_look(&(struct text){at, len, name, fd, offset, prot & PROT_WRITE});
}

void memory_look(uint64_t at, size_t len, int prot, const char *key, uint64_t offset)
{
	if (!(prot & PROT_EXEC))
		return;
	int fd = store_open(key);
	if (fd < 0)
		rdb_fatal("%s of %s cannot be opened: %s", key, lower.opt.files_dir, strerror(-fd));
	look(at, len, prot, fd, offset, key);
	close(fd);
}

static long map_stored_text(uint64_t at, size_t len, int prot, const char *key, uint64_t offset)
{
	long rc = memory_map_stored(at, len, prot, key, offset);
	if (!rc)
		memory_look(at, len, prot, key, offset);
	return rc;
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
	bool changing = lower.started && shared_volatile(fd);
	if (changing && recording() && followed_never(fd)) { /* map the copy, which does not change, here and in a
							      * replay */
		int err = store_add(fd, path, true, key);
		if (err)
			rdb_fatal("%s: cannot be copied into %s: %s", path, lower.opt.files_dir, strerror(-err));
		meta_log_file(key, memory_asked_for(path));
		return map_stored_text(at, len, prot, key, offset);
	}
	size_t inside = (uint64_t)st.st_size <= offset ? 0 : UP((uint64_t)st.st_size - offset);
	if (inside > len || passing())
		inside = len; /* nothing is hashed, and an image has only pages that are present */
	/* also where nothing of the file is there: the kernel says whether files of this kind can be mapped */
	long rc = memory_map_at(at, inside ? inside : len, prot, MAP_PRIVATE, fd, offset);
	if (rc >= 0 && len > inside)
		rc = memory_map_zero(at + inside, len - inside, prot);
	if (rc < 0)
		return rc;
	const char *name = path;
	if (recording() || coordinating()) {
		int err = store_add(fd, path, changing, key);
		if (err)
			rdb_fatal("%s: cannot be copied into %s: %s", path, lower.opt.files_dir, strerror(-err));
		meta_log_file(key, memory_asked_for(path));
		struct file_mapping f = {.start = at,
					 .end = at + len,
					 .offset = offset,
					 .dev = st.st_dev,
					 .ino = st.st_ino,
					 .changed_ns = followed_changed_ns(&st),
					 .openings = followed_openings(st.st_dev, st.st_ino),
					 .text = prot & PROT_EXEC};
		strcpy(f.key, key);
		arena_file_mapped(&f);
		if (len > inside)
			ends_add(at + inside, at + len, prot);
		name = key;
	}
	/* now the former contents are forgotten, with their patches */
	if (prot & PROT_EXEC) {
		hot_sites_look(at, inside, path);
		look(at, inside, prot, fd, offset, name);
	}
	return 0;
}

static long map_recorded(struct event *ev, uint64_t at, size_t len, int prot)
{
	size_t n;
	const char *key = log_note(lower.mode->record(), RDB_NOTE_FILE, &n);
	char text[160];
	if (!key || n >= sizeof(text))
		return memory_map_zero(at, len, prot);
	memcpy(text, key, n);
	text[n] = 0;
	return map_stored_text(at, len, prot, text, A(5));
}

static bool is_dev_zero(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 5);
}

/* -EEXIST: something is mapped there. */
static long reserve(uint64_t at, size_t len)
{
	long rc = raw_syscall(SYS_mmap, (long)at, (long)len, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	return rc < 0 ? rc : 0;
}

/* Chooses the address. 0 or -errno.  A former mapping there is replaced only when the call succeeds. */
static long place(struct event *ev, size_t len, uint64_t *at)
{
	const unsigned flags = (unsigned)A(3);
	const bool low = flags & MAP_LOW;
	*at = A(0);
	if (!(flags & (MAP_FIXED | MAP_FIXED_NOREPLACE))) {
		*at = arena_hinted(A(0), len, low);
		if (!*at || !(from_log() ? *at == (uint64_t)ev->result : reserve(*at, len) == 0))
			*at = arena_take(len, low);
		return *at && (*at < RDB_ARENA_END || !(A(2) & PROT_EXEC)) ? 0 : -ENOMEM;
	}
	if (*at & (RDB_PAGE - 1) || !rdb_is_upper_range(*at, len))
		return -EINVAL;
	if (*at >= RDB_ARENA_END && A(2) & PROT_EXEC)
		return -EACCES; /* code there would make system calls that nobody records */
	if (*at<RDB_GATE + 2 * RDB_PAGE && * at + len> RDB_GATE)
		return -EPERM; /* like addresses below vm.mmap_min_addr */
	return flags & MAP_FIXED || from_log() ? 0 : reserve(*at, len);
}

static bool on_huge_pages(int fd)
{
	struct statfs fs;
	return !fstatfs(fd, &fs) && fs.f_type == HUGETLBFS_MAGIC;
}

/* Do its limits let the program map so much?  To be asked before place(), which reserves. */
static bool has_room(const struct event *ev, size_t len, int prot)
{
	const bool data = (A(3) & 0xf) == MAP_PRIVATE && prot & PROT_WRITE;
	const bool replaces = (A(3) & (MAP_FIXED | MAP_FIXED_NOREPLACE)) == MAP_FIXED;
	return from_log() || !memory_limits_more(len, data, A(0), replaces ? len : 0);
}

/* While recording, and before the start: makes the mapping that the program asks for. */
static long map_really(struct event *ev, uint64_t at, size_t len, int prot, bool room)
{
	int flags = (int)A(3), fd = (int)A(4);
	bool shared = (flags & 0xf) != MAP_PRIVATE, anonymous = flags & MAP_ANONYMOUS;
	char key[160];
	if (!anonymous && is_dev_zero(fd))
		anonymous = true;
	if (shared && !anonymous && prot & PROT_WRITE &&
	    (raw_syscall(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0) & O_ACCMODE) != O_RDWR)
		return -EACCES;
	if (!anonymous && on_huge_pages(fd))
		return -ENOMEM; /* as without huge pages: they can be neither mapped twice nor put anywhere */
	if (!room)
		return -ENOMEM;
	const bool changes = lower.started && (anonymous ? shared : followed_from_start(fd, shared, prot));
	const uint64_t others = changes && !anonymous ? shared_key_of_file(fd) : 0;
	if (others)
		envoy_begin(others);
	if (changes)
		return shared_map(ev, at, len, prot,
				  (shared ? MAP_SHARED : MAP_PRIVATE) | (anonymous ? MAP_ANONYMOUS : 0), fd, A(5));
	if (anonymous) {
		long rc = memory_map_zero(at, len, prot);
		if (!rc)
			shared_unmapped(at, at + len);
		return rc;
	}
	long rc = memory_map_file(at, len, prot, fd, A(5), key);
	if (!rc && recording() && shared)
		arena_file_read_only(at);
	if (!rc && recording() && lower.started)
		event_note(ev, RDB_NOTE_FILE, key, strlen(key));
	if (!rc)
		shared_unmapped(at, at + len);
	return rc;
}

/* ksys_mmap_pgoff() and do_mmap() in mm/mmap.c: what is refused, in this order. */
static long not_a_mapping(const struct event *ev)
{
	const unsigned flags = (unsigned)A(3), kind = flags & 0xf;
	if (A(5) & (RDB_PAGE - 1))
		return -EINVAL;
	if (!(flags & MAP_ANONYMOUS) && !from_log()) {
		const long status = raw_syscall(SYS_fcntl, (int)A(4), F_GETFL, 0, 0, 0, 0);
		if (status < 0 || status & O_PATH)
			return -EBADF;
		if (flags & MAP_HUGETLB && !on_huge_pages((int)A(4)))
			return -EINVAL;
	}
	if (!A(1))
		return -EINVAL;
	if (!UP(A(1)) || A(1) > USER_END)
		return -ENOMEM;
	if (kind != MAP_SHARED && kind != MAP_PRIVATE && kind != MAP_SHARED_VALIDATE)
		return -EINVAL;
	if (flags & MAP_GROWSDOWN && (kind != MAP_PRIVATE || !(flags & MAP_ANONYMOUS)))
		return -EINVAL;
	return kind == MAP_SHARED_VALIDATE && flags & 0x80000 /* MAP_SYNC */ ? -EOPNOTSUPP : 0;
}

long memory_mmap(struct event *ev, ucontext_t *uc)
{
	size_t len = UP(A(1));
	int flags = (int)A(3), kind = flags & 0xf;
	int prot = made_text_protection((int)A(2), kind == MAP_PRIVATE && flags & MAP_ANONYMOUS);
	uint64_t at, before[2] = {lower.upper.mmap_next, lower.upper.mmap_next_32};
	shared_sync_before(ev);
	if (from_log() && ev->result < 0 && ev->result > -4096)
		return ev->result;
	const long refused = not_a_mapping(ev);
	if (refused)
		return refused;
	memory_use_stack_at(UC_SP(uc));
	const bool room = has_room(ev, len, prot);
	long rc = place(ev, len, &at);
	const bool placed = !rc;
	if (!rc && from_log())
		shared_unmapped(at, at + len);
	if (!rc)
		rc = !from_log()                               ? map_really(ev, at, len, prot, room)
		     : shared_map_recorded(at, len, prot, &rc) ? rc
							       : map_recorded(ev, at, len, prot);
	if (rc) {
		if (placed && !(flags & MAP_FIXED)) /* removes the reservation, if there is one */
			raw_syscall(SYS_munmap, (long)at, (long)len, 0, 0, 0, 0);
		lower.upper.mmap_next = before[0];
		lower.upper.mmap_next_32 = before[1];
		return rc;
	}
	arena_chosen(at, at + len);
	if (flags & MAP_ANONYMOUS)
		arena_unmapped(at, at + len);
	made_text_mapped((int)A(2), kind != MAP_PRIVATE, !(flags & MAP_ANONYMOUS));
	memory_remapped(at, len);
	return (long)at;
}

long memory_unmap(uint64_t at, size_t len)
{
	/* by libc's function, so that an MPI's registration cache sees it */
	if (munmap((void *)at, len))
		return -errno;
	arena_unmapped(at, at + len);
	shared_unmapped(at, at + len);
	memory_remapped(at, len);
	return 0;
}

long memory_munmap(struct event *ev, ucontext_t *uc)
{
	size_t len = UP(A(1));
	if (A(0) & (RDB_PAGE - 1) || !len || !rdb_is_upper_range(A(0), len))
		return -EINVAL;
	shared_sync_before(ev);
	followed_look_for_outsiders(A(0), A(0) + len);
	excluded_unmapped(A(0), A(0) + len);
	return from_log() && ev->result < 0 ? ev->result : memory_unmap(A(0), len);
}

static int reaches(const struct mapping *m, void *arg)
{
	uint64_t *at = arg;
	if (m->start > *at)
		return 1;
	*at = m->end;
	return 0;
}

/* mprotect(2) has found a gap in [start, end): what lies before it has been changed. Its end. */
static uint64_t before_gap(uint64_t start, uint64_t end)
{
	uint64_t at = start;
	return arena_each_in(start, end, reaches, &at) < 0 || at >= end ? start : at;
}

bool memory_gap(uint64_t start, uint64_t end)
{
	uint64_t at = start;
	return !rdb_is_upper_range(start, end - start) || (arena_each_in(start, end, reaches, &at) >= 0 && at < end);
}

static long protect(struct event *ev, uint64_t start, size_t len, int prot)
{
	if (!rdb_is_upper_range(start, len))
		return -ENOMEM;
	if (start >= RDB_ARENA_END && prot & PROT_EXEC)
		return -EACCES; /* see place() */
	if (from_log() && ev->result < 0 && ev->result != -ENOMEM)
		return ev->result; /* for example a file that may not be written; here it is a private copy */
	const struct file_mapping *f = arena_file_at(start);
	if (f && f->read_only && prot & PROT_WRITE)
		return -EACCES;
	if (!from_log() && memory_limits_protect(start, len, prot))
		return -ENOMEM;
	const bool failed = from_log() && ev->result;
	long rc = failed ? ev->result : made_text_protect(start, start + len, prot);
	const uint64_t gap = rc == -ENOMEM ? before_gap(start, start + len) : start;
	if (gap > start)
		made_text_protect(start, gap, prot);
	if (!rc || gap > start)
		ends_protected(start, rc ? gap : start + len, prot);
	reprotected(start, len);
	if (!rc && (prot & (PROT_READ | PROT_WRITE)) != (PROT_READ | PROT_WRITE))
		device_memory_gone(start, start + len);
	if (!rc && prot & PROT_READ && f)
		memory_look(start, len, prot, f->key, f->offset + (start - f->start));
	return rc;
}

struct run {
	uint64_t start, end;
	int prot;
};

static int one_protection(const struct mapping *m, void *arg)
{
	struct run *r = arg;
	if (m->start != r->end || m->prot != r->prot)
		*r = (struct run){.start = m->start, .prot = m->prot};
	r->end = m->end;
	return 0;
}

static int any(const struct mapping *m, void *arg)
{
	(void)m, (void)arg;
	return 1;
}

/* PROT_GROWSDOWN: from the beginning of the mapping on, which is the stack. */
static long grows_down(uint64_t *start, uint64_t end)
{
	struct run r = {0};
	if (!rdb_is_upper_range(*start, end - *start) || !arena_each_in(*start, end, any, NULL))
		return -ENOMEM;
	if (memory_gap(*start, *start + RDB_PAGE) || *start < RDB_MMAP_END || *start >= RDB_STACK_TOP ||
	    arena_each_in(RDB_MMAP_END, *start + RDB_PAGE, one_protection, &r) < 0)
		return -EINVAL;
	*start = r.start;
	return 0;
}

long memory_mprotect(struct event *ev, ucontext_t *uc)
{
	enum { KNOWN = PROT_READ | PROT_WRITE | PROT_EXEC | 8 /* PROT_SEM */, GROWS = PROT_GROWSDOWN | PROT_GROWSUP };
	uint64_t start = A(0);
	const uint64_t end = start + UP(A(1));
	/* do_mprotect_pkey() in mm/mprotect.c: in this order */
	if (start & (RDB_PAGE - 1) || (A(2) & GROWS) == GROWS)
		return -EINVAL;
	if (!A(1))
		return 0;
	if (end <= start)
		return -ENOMEM;
	if (A(2) & ~(uint64_t)(KNOWN | GROWS))
		return -EINVAL;
	if (ev->nr == SYS_pkey_mprotect && (int)A(3) != -1)
		return -EINVAL; /* pkey_alloc gives out no key; -1 is a plain mprotect */
	shared_sync_before(ev);
	long rc = 0;
	if (A(2) & PROT_GROWSDOWN)
		rc = grows_down(&start, end);
	else if (A(2) & PROT_GROWSUP) /* no mapping of these processors does */
		rc = memory_gap(start, start + RDB_PAGE) ? -ENOMEM : -EINVAL;
	return rc ? rc : protect(ev, start, end - start, (int)A(2) & KNOWN);
}

long memory_brk(struct event *ev, ucontext_t *uc)
{
	struct upper_state *u = &lower.upper;
	uint64_t want = A(0), old_end = UP(u->brk), new_end = UP(want);
	shared_sync_before(ev);
	if (want < RDB_BRK || want > RDB_BRK_END || (from_log() && (uint64_t)ev->result != want))
		return (long)u->brk;
	memory_use_stack_at(UC_SP(uc));
	if (!from_log() && memory_limits_heap(want))
		return (long)u->brk;
	if (new_end > old_end && memory_map_zero(old_end, new_end - old_end, PROT_READ | PROT_WRITE))
		return (long)u->brk;
	if (new_end < old_end && memory_unmap(new_end, old_end - new_end))
		return (long)u->brk;
	reprotected(RDB_BRK, (old_end > new_end ? old_end : new_end) - RDB_BRK);
	u->brk = want;
	return (long)want;
}

/* Not carried out: it would lock our own memory, too, most of which is address space only.  Locked pages hold the same
 * bytes. */
long memory_mlockall(struct event *ev, ucontext_t *uc)
{
	if (ev->nr == SYS_munlockall && !replaying()) /* for what mlock(2) has locked */
		raw_syscall(SYS_munlockall, 0, 0, 0, 0, 0, 0);
	return ev->nr == SYS_mlockall && (!A(0) || A(0) & ~7ul) ? -EINVAL : 0;
}
