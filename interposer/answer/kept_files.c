#include "answer/kept_files.h"
#include "answer/attributes.h"
#include "answer/other_names.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/apart.h"
#include "base/lower.h"
#include "base/copy_bytes.h"
#include "base/descriptors.h"
#include "space/kept_budget.h"
#include "base/private_file.h"
#include "space/side_files.h"
#include "answer/process.h"
#include "answer/kept_left.h"
#include "answer/undo.h"

/* The most bytes that are copied where the file system cannot share them; also at most 1/OF_FREE of the free space. */
#define LARGEST (1ull << 30)
#define OF_FREE 4
#define SMALL (1 << 20) /* not worth linking: copied just as fast */

#define A(i) (ev->args[i])

static void kept_name(char *out, size_t size, uint32_t number)
{
	snprintf(out, size, "%s/kept-%u", lower.opt.dir, number);
}

static bool too_large(int fd, uint64_t size)
{
	struct statvfs there;
	return size > LARGEST || fstatvfs(fd, &there) ||
	       size > (uint64_t)there.f_bavail * (uint64_t)there.f_frsize / OF_FREE;
}

struct copying {
	const char *from, *to;
	uint64_t size;
};

static long copied(void *p)
{
	const struct copying *c = p;
	const char *from = c->from, *to = c->to;
	const uint64_t size = c->size;
	int in = descriptor_open(AT_FDCWD, from, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	if (in < 0)
		return in;
	int out = private_create(AT_FDCWD, to, O_RDWR | O_EXCL | O_CLOEXEC);
	int64_t n = out;
	if (out >= 0) {
		if (ioctl(out, FICLONE, in) == 0)
			n = (int64_t)size;
		else
			n = too_large(out, size) ? -EFBIG : copy_bytes(in, out, size);
		if (close(out) && n >= 0)
			n = -errno;
		if (n >= 0 && (uint64_t)n != size)
			n = -EIO;
		if (n < 0)
			unlink(to);
	}
	close(in);
	return n < 0 ? n : 0;
}

static int copy(const char *from, const char *to, uint64_t size)
{
	struct copying c = {from, to, size};
	return (int)apart(copied, &c);
}

static bool within_budget(const char *place, uint64_t size, int64_t *kept)
{
	static bool said;
	if (kept_budget((int64_t)size, kept))
		return true;
	if (__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		return false;
	if (undo_follows())
		rdb_warn("%s: --kept-budget is spent: the earlier content of this file (%lu bytes) and of further "
			 "files is not kept; restarts from checkpoint %lu or earlier that need it are refused",
			 place, (unsigned long)size, (unsigned long)undo_checkpoint());
	else
		rdb_warn("%s: --kept-budget is spent: the earlier content of this file (%lu bytes) and of further "
			 "files is not kept beside the log; restarts from before event %lu that need it are refused",
			 place, (unsigned long)size, (unsigned long)lower.event + 1);
	return false;
}

/* Gives back the budget that was taken for this file. */
static void drop(const struct kept *k)
{
	int64_t kept;
	kept_budget(-(int64_t)k->note.head.size, &kept);
}

/* Warns at each further GiB. kept: bytes kept by all processes of the job, these included. */
static void tell_size(uint64_t size, int64_t kept)
{
	char job[4096];
	if (kept < 0 || kept >> 30 == (kept - (int64_t)size) >> 30)
		return;
	kept_job(job, sizeof(job));
	rdb_warn(
		"%s: it keeps %ld GiB of files that the program overwrote or deleted; rdb run --kept-budget 1GB bounds that",
		job, (long)(kept >> 30));
}

static void say_lost(const char *place, uint64_t size)
{
	static bool said;
	if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		rdb_warn("%s: it is about to be changed, and its %lu bytes cannot be kept (too large, or no room): a "
			 "restart from checkpoint %lu or earlier finds it changed; this is said once",
			 place, (unsigned long)size, (unsigned long)undo_checkpoint());
}

/* going: the name is about to disappear, so the file itself can be kept under another name. */
static void keep_file(struct kept *k, const char *full, const char *place, const struct stat *st, bool going)
{
	static uint32_t made;
	int64_t kept;
	char name[4096 + 32];
	k->note.head.size = (uint64_t)st->st_size;
	k->note.head.mode = st->st_mode;
	if (undo_follows()) {
		k->kept = true;
		k->alone = st->st_nlink <= 1;
		k->dev = st->st_dev;
		k->ino = st->st_ino;
		k->spent = undo_is_new(st, full);
	} else if (kept_is_left(st)) {
		k->note.head.was = RDB_WAS_SAME;
		return;
	}
	k->note.head.was = RDB_WAS_LOST;
	if (k->spent || (recording() && lower.opt.keep.unit != LIMIT_NONE))
		return; /* a bounded recording would grow without bound */
	if (!st->st_size) {
		k->note.head.was = RDB_WAS_EMPTY;
		return;
	}
	if (!within_budget(place, k->note.head.size, &kept)) {
		k->note.head.number = 1;
		return;
	}
	if (undo_follows()) {
		undo_kept_name(name, sizeof(name), &k->note.head.number);
	} else {
		k->note.head.number = __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
		kept_name(name, sizeof(name), k->note.head.number);
	}
	const bool alone = going && st->st_nlink == 1 && st->st_size > SMALL; /* others could see that it has another
									       * name */
	if (alone && (uint64_t)st->st_size <= LARGEST && !link(place, name)) {
		k->note.head.changed_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
		k->note.head.was = RDB_WAS_KEPT;
	} else if (!copy(place, name, (uint64_t)st->st_size)) {
		k->note.head.was = RDB_WAS_KEPT;
	} else {
		k->note.head.number = 0;
		drop(k);
		if (undo_follows())
			say_lost(place, k->note.head.size);
		return;
	}
	if (recording())
		side_file_whole(name);
	tell_size(k->note.head.size, kept);
}

static void add_text(struct kept *k, const char *text)
{
	const size_t n = strlen(text) + 1;
	if (k->len + n > sizeof(k->note.text)) {
		k->note.head.was = RDB_WAS_LOST;
		return;
	}
	memcpy(k->note.text + k->len, text, n);
	k->len += n;
}

/* Is it in the folder of the recording?  Keeping such a file would change it. */
static bool recorded(const char *full)
{
	const char *end = strrchr(lower.opt.files_dir, '/');
	const size_t n = end ? (size_t)(end - lower.opt.files_dir) : 0;
	return n && !strncmp(full, lower.opt.files_dir, n) && (full[n] == '/' || !full[n]);
}

/* The absolute path of a call's argument, with links resolved (the last part only if `follow`).  False: not a path of a
 * file on disk. */
static bool whole(int dir, const char *path, bool follow, char *out)
{
	char joined[4096];
	if (!path || !*path)
		return false;
	const bool apart = dir != AT_FDCWD && *path != '/';
	const int n = apart ? snprintf(joined, sizeof(joined), "/proc/self/fd/%d/%s", dir, path)
			    : snprintf(joined, sizeof(joined), "%s", path);
	if (n >= (int)sizeof(joined))
		return false;
	for (char *end = joined + n - 1; end > joined && *end == '/'; end--)
		*end = 0;
	if (!other_names->whole(AT_FDCWD, joined, out, follow))
		return false;
	if (undo_follows() && !strncmp(out, "/dev/shm/", 9))
		return true; /* without a log nothing else keeps it */
	return !recorded(out) && strncmp(out, "/proc/", 6) && strncmp(out, "/sys/", 5) && strncmp(out, "/dev/", 5);
}

/* A file that a branch has for itself is not kept: its process makes it again.  A file that the branch got from the
 * plan is kept. */
static bool place_of(const char *full, char *place)
{
	if (other_names->own_place(full, place))
		return undo_follows() || strstr(place, "/later/");
	strcpy(place, full);
	return true;
}

bool kept_name_of(int dir, const char *path, bool follow, char *full, char *place)
{
	char link[32];
	if (path)
		return whole(dir, path, follow, full) && place_of(full, place);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	const ssize_t n = readlink(link, full, 4095);
	full[n < 0 ? 0 : n] = 0;
	return *full == '/' && !recorded(full) && place_of(full, place);
}

/* Notes, and keeps, what is at that name.  False: nothing to do. */
static bool look(struct kept *k, const char *full, bool going)
{
	struct stat st;
	char place[LONGEST];
	if (!place_of(full, place))
		return false;
	memset(&k->note.head, 0, sizeof(k->note.head));
	k->any = true;
	k->kept = k->spent = false;
	k->len = 0;
	if (lstat(place, &st)) {
		k->note.head.was = errno == ENOENT ? RDB_WAS_ABSENT : RDB_WAS_LOST;
		return true;
	}
	k->note.head.mode = st.st_mode;
	if (S_ISREG(st.st_mode))
		keep_file(k, full, place, &st, going);
	else
		k->note.head.was = S_ISDIR(st.st_mode)    ? RDB_WAS_DIRECTORY
				   : S_ISLNK(st.st_mode)  ? RDB_WAS_LINK
				   : S_ISFIFO(st.st_mode) ? RDB_WAS_FIFO
							  : RDB_WAS_OTHER;
	return true;
}

static void add_link(struct kept *k, const char *full)
{
	char target[1024];
	if (k->note.head.was != RDB_WAS_LINK)
		return;
	const ssize_t n = readlink(full, target, sizeof(target) - 1);
	if (n < 0) {
		k->note.head.was = RDB_WAS_LOST;
		return;
	}
	target[n] = 0;
	add_text(k, target);
}

/* For a call that makes, removes or truncates the file of that name. */
static void one(struct kept *k, int dir, uint64_t path, bool follow, bool going)
{
	char full[4096];
	if (!whole(dir, (const char *)path, follow, full) || !look(k, full, going))
		return;
	add_text(k, full);
	add_link(k, full);
}

/* `links`: what gets another name may have none yet (open(2), O_TMPFILE). */
static void two(struct kept *k, int from_dir, uint64_t from, int to_dir, uint64_t to, bool links)
{
	char path[4096], full[4096];
	if (!whole(to_dir, (const char *)to, false, full))
		return;
	const bool named = whole(from_dir, (const char *)from, false, path);
	if ((!named && !links) || !look(k, full, true))
		return;
	add_text(k, full);
	add_text(k, named ? path : full);
	add_link(k, full);
}

static void opens_without_log(struct kept *k, int dir, uint64_t path, unsigned flags)
{
	struct stat st;
	char full[4096], place[LONGEST];
	if (!whole(dir, (const char *)path, true, full) || !place_of(full, place))
		return;
	const bool there = lstat(place, &st) == 0;
	if ((there && !S_ISREG(st.st_mode)) || (!there && !(flags & O_CREAT)))
		return;
	if (there && flags & O_APPEND && !(flags & O_TRUNC)) {
		k->appends = !undo_has_appended(&st);
		k->note.head.size = (uint64_t)st.st_size;
		k->dev = st.st_dev;
		k->ino = st.st_ino;
		k->len = 0;
		add_text(k, full);
	} else if (look(k, full, false)) {
		add_text(k, full);
	}
}

static void opens(struct kept *k, int dir, uint64_t path, unsigned flags)
{
	struct stat st;
	char full[4096];
	const bool appends = flags & O_APPEND && !(flags & O_TRUNC);
	if ((flags & O_ACCMODE) == O_RDONLY || (flags & O_TMPFILE) == O_TMPFILE || !path)
		return;
	if (undo_follows()) {
		opens_without_log(k, dir, path, flags);
		return;
	}
	if (fstatat(dir, (const char *)path, &st, 0) == 0 && (appends || !S_ISREG(st.st_mode)))
		return;
	if (whole(dir, (const char *)path, true, full) && look(k, full, false))
		add_text(k, full);
}

static void cut_open(struct kept *k, int fd)
{
	char link[32], full[4096];
	struct stat st;
	if (recording() && !kept_appends(fd))
		return; /* its contents at open were noted */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	const ssize_t n = readlink(link, full, sizeof(full) - 1);
	if (n <= 0)
		return;
	full[n] = 0;
	if (undo_follows()) { /* opened to append after the checkpoint; else its content was noted, or is a checkpoint's */
		if (fstat(fd, &st) || !undo_has_appended(&st))
			return;
		other_names->known_as(full);
		if (recorded(full))
			return;
	}
	if (look(k, full, false))
		add_text(k, full);
}

/* A file that gets one more name may be changed by that name: what it contains is noted by its first one. */
static void linked(const struct event *ev, struct kept *k, int dir, uint64_t path, bool follow)
{
	const struct attributes none = {.any = false};
	struct event as = *ev;
	as.nr = SYS_truncate;
	if (undo_follows()) {
		one(k, dir, path, follow, false);
		undo_before(&as, k, &none);
		k->any = false;
		k->len = 0;
	}
}

void kept_before(const struct event *ev, struct kept *k)
{
	k->any = k->appends = k->kept = k->spent = k->alone = false;
	k->len = 0;
	k->seq = 0;
	if ((!recording() || !lower.started) && !undo_follows())
		return;
	if (recording())
		kept_left_before(ev);
	switch (ev->nr) {
	case SYS_open: opens(k, AT_FDCWD, A(0), (unsigned)A(1)); break;
	case SYS_openat: opens(k, (int)A(0), A(1), (unsigned)A(2)); break;
	case SYS_creat: opens(k, AT_FDCWD, A(0), O_WRONLY | O_CREAT | O_TRUNC); break;
	case SYS_truncate: one(k, AT_FDCWD, A(0), true, false); break;
	case SYS_ftruncate: cut_open(k, (int)A(0)); break;
	case SYS_unlink:
	case SYS_rmdir: one(k, AT_FDCWD, A(0), false, true); break;
	case SYS_unlinkat: one(k, (int)A(0), A(1), false, true); break;
	case SYS_mkdir:
	case SYS_mknod: one(k, AT_FDCWD, A(0), false, false); break;
	case SYS_mkdirat:
	case SYS_mknodat: one(k, (int)A(0), A(1), false, false); break;
	case SYS_symlink: one(k, AT_FDCWD, A(1), false, false); break;
	case SYS_symlinkat: one(k, (int)A(1), A(2), false, false); break;
	case SYS_link:
		linked(ev, k, AT_FDCWD, A(0), false);
		two(k, AT_FDCWD, A(0), AT_FDCWD, A(1), true);
		break;
	case SYS_rename: two(k, AT_FDCWD, A(0), AT_FDCWD, A(1), false); break;
	case SYS_linkat:
		linked(ev, k, (int)A(0), A(1), A(4) & AT_SYMLINK_FOLLOW);
		two(k, (int)A(0), A(1), (int)A(2), A(3), true);
		break;
	case SYS_renameat:
	case SYS_renameat2: two(k, (int)A(0), A(1), (int)A(2), A(3), false); break;
	default: break;
	}
}

bool kept_by_library(const char *path, bool deletes)
{
	const struct attributes none = {.any = false};
	const uint64_t name = (uint64_t)path;
	const struct event unlinks = {.nr = SYS_unlink, .args = {name}};
	const struct event opens = {.nr = SYS_open, .args = {name, O_RDWR | O_CREAT}};
	const struct event *as = deletes ? &unlinks : &opens;
	struct kept k;
	if (!undo_follows())
		return false;
	kept_before(as, &k);
	undo_before(as, &k, &none);
	return k.len && k.note.head.was == RDB_WAS_ABSENT;
}

void kept_after(struct event *ev, struct kept *k)
{
	char name[4096 + 32];
	if (ev->result >= 0)
		kept_left_after(ev, k);
	if (!k->any)
		return;
	if (ev->result >= 0) {
		event_note(ev, RDB_NOTE_WAS, &k->note, sizeof(k->note.head) + k->len);
	} else if (k->note.head.was == RDB_WAS_KEPT) {
		kept_name(name, sizeof(name), k->note.head.number);
		unlink(name);
		drop(k);
	}
}
