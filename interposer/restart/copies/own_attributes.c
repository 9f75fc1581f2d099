#include "restart/copies/own_attributes.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "interface/host.h"
#include "base/lower.h"
#include "restart/base/cut.h"
#include "restart/copies/own_table.h"
#include "restart/copies/written_copies.h"
#include "base/descriptors.h"
#include "replay/replay.h"
#include "task/newer_calls.h"

#define A(i) (ev->args[i])

enum { NAMES = 64 * 1024 };

/* Modes and owners that copies get at the cut; until then a copy is this user's to read and write. */
static struct meant {
	dev_t dev;
	ino_t ino;
	mode_t mode;
	uid_t uid;
	gid_t gid;
} * meant;
static unsigned nmeant, room;

static struct meant *meant_find(const struct stat *st)
{
	for (struct meant *m = meant; m < meant + nmeant; m++)
		if (m->ino == st->st_ino && m->dev == st->st_dev)
			return m;
	return NULL;
}

static struct meant *meant_of(const struct stat *st)
{
	struct meant *m = meant_find(st);
	if (m)
		return m;
	if (nmeant == room) {
		room = room ? 2 * room : 64;
		meant = realloc(meant, room * sizeof(*meant));
		if (!meant)
			live_refuse("out of memory for the modes of its files");
	}
	m = &meant[nmeant++];
	*m = (struct meant){.dev = st->st_dev, .ino = st->st_ino, .uid = st->st_uid, .gid = st->st_gid};
	m->mode = st->st_mode & 07777;
	return m;
}

static struct timespec recorded_now(void)
{
	const uint64_t ns = replay_now_ns();
	return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
}

static void set_times(int copy, struct timespec accessed, struct timespec modified)
{
	const struct timespec times[2] = {accessed, modified};
	if (futimens(copy, times))
		live_refuse("the times of a copy cannot be set: %s", strerror(errno));
}

static struct timespec from_ns(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
}

static void copy_xattrs(int from, int to)
{
	static char names[NAMES], value[NAMES];
	const ssize_t all = flistxattr(from, names, sizeof(names));
	for (const char *name = names; all > 0 && name < names + all; name += strlen(name) + 1) {
		const ssize_t n = strncmp(name, "user.", 5) ? -1 : fgetxattr(from, name, value, sizeof(value));
		if (n >= 0 && fsetxattr(to, name, value, (size_t)n, 0))
			rdb_warn("the branch's copy of a file lacks the extended attribute %s: %s", name,
				 strerror(errno));
	}
}

static void xattrs_of(const char *path, const struct rdb_note_attributes *note, int copy)
{
	struct stat st;
	const int fd = descriptor_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == note->ino && st.st_dev == note->dev)
		copy_xattrs(fd, copy);
	if (fd >= 0)
		close(fd);
}

void own_attributes_written(int copy)
{
	set_times(copy, (struct timespec){.tv_nsec = UTIME_OMIT}, recorded_now());
}

void own_attributes_opened(const struct opened *f)
{
	struct stat st;
	size_t len = 0;
	const struct rdb_note_attributes *note = log_note(replay_record(), RDB_NOTE_ATTRIBUTES, &len);
	if (!note || len < sizeof(*note) || fstat(f->copy, &st))
		return; /* recorded by an older rdb */
	struct meant *m = meant_of(&st);
	m->mode = note->mode & 07777;
	m->uid = note->uid;
	m->gid = note->gid;
	set_times(f->copy, from_ns(note->accessed_ns), from_ns(note->modified_ns));
	if (!note->made)
		xattrs_of(f->path, note, f->copy);
	if (f->flags & O_TRUNC && !note->made)
		own_attributes_written(f->copy);
}

void own_attributes_as(const char *kept, int copy)
{
	struct stat st, su;
	const int fd = descriptor_open(AT_FDCWD, kept, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0 || fstat(fd, &st) || fstat(copy, &su))
		live_refuse("%s: %s", kept, strerror(errno));
	struct meant *m = meant_of(&su);
	m->mode = st.st_mode & 07777;
	m->uid = st.st_uid;
	m->gid = st.st_gid;
	set_times(copy, st.st_atim, st.st_mtim);
	copy_xattrs(fd, copy);
	close(fd);
}

static void give_mode(int fd, const struct meant *m, mode_t also, const char *what)
{
	struct stat st;
	if (fstat(fd, &st))
		return;
	if ((m->uid != st.st_uid || m->gid != st.st_gid) && fchown(fd, m->uid, m->gid))
		rdb_warn("%s belonged to %u:%u (user:group); the branch's copy belongs to you: %s", what, m->uid,
			 m->gid, strerror(errno));
	if (fchmod(fd, m->mode | also))
		rdb_warn("%s: the branch's copy cannot be given mode %04o: %s", what, m->mode, strerror(errno));
}

void own_attributes_keep(const char *from, int kept)
{
	struct stat st;
	const int fd = descriptor_open(AT_FDCWD, from, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0 || fstat(fd, &st))
		live_refuse("%s: %s", from, strerror(errno));
	const struct meant is = {.mode = st.st_mode & 07777, .uid = st.st_uid, .gid = st.st_gid}, *m = meant_find(&st);
	copy_xattrs(fd, kept);
	give_mode(kept, m ? m : &is, 0400, from);
	set_times(kept, st.st_atim, st.st_mtim);
	close(fd);
}

bool own_attributes_differ(const char *copy, const char *path)
{
	struct stat st, real;
	if (stat(copy, &st) || stat(path, &real))
		return true;
	const struct meant *m = meant_find(&st);
	return m && (m->mode != (real.st_mode & 07777) || m->uid != real.st_uid || m->gid != real.st_gid);
}

int own_copy_named(int dir, const char *path, bool follow)
{
	char full[LONGEST];
	open_whole_path(dir, path, full, follow);
	for (const struct opened *f = open_table.opened; *full && f < open_table.opened + OPENED; f++)
		if (f->kind == FILE_WRITTEN && !strcmp(f->path, full))
			return dup(f->copy);
	const struct own *o = own_find(full);
	return o && o->left ? open(o->place, O_RDWR | O_CLOEXEC) : -1;
}

static int copy_at(uint64_t fd)
{
	const struct opened *f = open_at(fd);
	if (f && f->kind == FILE_WRITTEN)
		return dup(f->copy);
	return f && f->kind == FILE_READ && *f->path ? own_copy_named(AT_FDCWD, f->path, false) : -1;
}

static int copy_of_both(const struct event *ev, uint64_t flags)
{
	const char *path = (const char *)A(1);
	if (!path || (!*path && flags & AT_EMPTY_PATH))
		return copy_at(A(0));
	return own_copy_named((int)A(0), path, !(flags & AT_SYMLINK_NOFOLLOW));
}

static void change_mode(int copy, uint64_t mode)
{
	struct stat st;
	if (copy >= 0 && fstat(copy, &st) == 0)
		meant_of(&st)->mode = (mode_t)mode & 07777;
}

static void change_owner(int copy, uint64_t uid, uint64_t gid)
{
	struct stat st;
	if (copy < 0 || fstat(copy, &st))
		return;
	struct meant *m = meant_of(&st);
	m->uid = (uid_t)uid == (uid_t)-1 ? m->uid : (uid_t)uid;
	m->gid = (gid_t)gid == (gid_t)-1 ? m->gid : (gid_t)gid;
}

/* Two pairs of seconds and a fraction in units of UNIT ns; NULL: now. */
static void change_times(int copy, const int64_t *given, int64_t unit)
{
	struct timespec times[2];
	if (copy < 0)
		return;
	for (int i = 0; i < 2; i++) {
		times[i] = recorded_now();
		if (given && given[2 * i + 1] != UTIME_NOW)
			times[i] = (struct timespec){.tv_sec = given[2 * i], .tv_nsec = given[2 * i + 1]};
		if (given && unit != 1)
			times[i].tv_nsec *= unit;
	}
	set_times(copy, times[0], times[1]);
}

static void change_seconds(int copy, const int64_t *given) /* utime(2) */
{
	const int64_t times[4] = {given ? given[0] : 0, 0, given ? given[1] : 0, 0};
	change_times(copy, given ? times : NULL, 1);
}

static void set_xattr(int copy, uint64_t name, const void *value, uint64_t size, int flags)
{
	if (copy >= 0 && fsetxattr(copy, (const char *)name, value, size, flags))
		rdb_warn("the branch's copy of a file lacks the extended attribute %s: %s", (const char *)name,
			 strerror(errno));
}

static void remove_xattr(int copy, uint64_t name)
{
	if (copy >= 0 && fremovexattr(copy, (const char *)name) && errno != ENODATA)
		rdb_warn("the branch's copy of a file keeps the extended attribute %s: %s", (const char *)name,
			 strerror(errno));
}

static int changed_copy(const struct event *ev)
{
	const char *path = (const char *)A(0);
	switch (ev->nr) {
	case SYS_chmod:
	case SYS_chown:
	case SYS_utime:
	case SYS_utimes:
	case SYS_setxattr:
	case SYS_removexattr: return own_copy_named(AT_FDCWD, path, true);
	case SYS_lchown:
	case SYS_lsetxattr:
	case SYS_lremovexattr: return own_copy_named(AT_FDCWD, path, false);
	case SYS_fchmod:
	case SYS_fchown:
	case SYS_fsetxattr:
	case SYS_fremovexattr: return copy_at(A(0));
	case SYS_fchmodat:
	case SYS_futimesat: return copy_of_both(ev, 0);
	case SYS_fchmodat2:
	case SYS_utimensat: return copy_of_both(ev, A(3));
	case SYS_fchownat: return copy_of_both(ev, A(4));
	case SYS_setxattrat:
	case SYS_removexattrat: return copy_of_both(ev, A(2));
	default: return -1;
	}
}

void own_attributes_syscall(const struct event *ev)
{
	const int copy = changed_copy(ev);
	struct {
		const void *value;
		uint32_t size, flags;
	} given; /* struct xattr_args */
	if (copy < 0)
		return;
	switch (ev->nr) {
	case SYS_chmod:
	case SYS_fchmod: change_mode(copy, A(1)); break;
	case SYS_fchmodat:
	case SYS_fchmodat2: change_mode(copy, A(2)); break;
	case SYS_chown:
	case SYS_lchown:
	case SYS_fchown: change_owner(copy, A(1), A(2)); break;
	case SYS_fchownat: change_owner(copy, A(2), A(3)); break;
	case SYS_utime: change_seconds(copy, (const int64_t *)A(1)); break;
	case SYS_utimes: change_times(copy, (const int64_t *)A(1), 1000); break;
	case SYS_futimesat: change_times(copy, (const int64_t *)A(2), 1000); break;
	case SYS_utimensat: change_times(copy, (const int64_t *)A(2), 1); break;
	case SYS_setxattr:
	case SYS_lsetxattr:
	case SYS_fsetxattr: set_xattr(copy, A(1), (const void *)A(2), A(3), (int)A(4)); break;
	case SYS_setxattrat:
		memcpy(&given, (const void *)A(4), sizeof(given));
		set_xattr(copy, A(3), given.value, given.size, (int)given.flags);
		break;
	case SYS_removexattr:
	case SYS_lremovexattr:
	case SYS_fremovexattr: remove_xattr(copy, A(1)); break;
	case SYS_removexattrat: remove_xattr(copy, A(3)); break;
	}
	close(copy);
}

void own_attributes_at_cut(void)
{
	struct stat st;
	const struct meant *m;
	for (const struct own *o = own_table.file; o < own_table.file + own_table.n; o++) {
		const int fd = o->path ? open(o->place, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC) : -1;
		if (fd >= 0 && fstat(fd, &st) == 0 && (m = meant_find(&st)))
			give_mode(fd, m, 0, o->path);
		if (fd >= 0)
			close(fd);
	}
	for (const struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (f->kind == FILE_WRITTEN && f->copy >= 0 && fstat(f->copy, &st) == 0 && (m = meant_find(&st)))
			give_mode(f->copy, m, 0, *f->path ? f->path : "a file without a name");
	nmeant = 0;
}
