#include "answer/attributes.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/lower.h"
#include "answer/process.h"
#include "answer/kept_files.h"
#include "answer/undo.h"

#define A(i) (ev->args[i])

enum { FUTIMESAT = 261, FCHMODAT2 = 452, SETXATTRAT = 463, REMOVEXATTRAT = 466 };

/* The file that a call changes. */
struct target {
	int dir; /* the directory or, if there is no path, the file's descriptor */
	const char *path;
	bool follow;
	const char *xattr; /* name of the attribute that is set or removed */
};

static bool by_path(struct target *t, int dir, uint64_t path, bool follow)
{
	*t = (struct target){.dir = dir, .path = (const char *)path, .follow = follow};
	return path;
}

static bool by_descriptor(struct target *t, uint64_t fd)
{
	*t = (struct target){.dir = (int)fd};
	return true;
}

/* For calls that take a directory, a path and flags; the path may be empty. */
static bool by_both(struct target *t, const struct event *ev, uint64_t flags)
{
	const char *path = (const char *)A(1);
	if (!path || (!*path && flags & AT_EMPTY_PATH))
		return by_descriptor(t, A(0));
	return by_path(t, (int)A(0), A(1), !(flags & AT_SYMLINK_NOFOLLOW));
}

static bool opens(struct target *t, int dir, uint64_t path, unsigned flags)
{
	if ((flags & O_ACCMODE) == O_RDONLY || (flags & O_TMPFILE) == O_TMPFILE)
		return false;
	return by_path(t, dir, path, !(flags & O_NOFOLLOW));
}

static bool changed_xattr(struct target *t, bool found, uint64_t name)
{
	t->xattr = (const char *)name;
	return found && name;
}

static bool opening(uint32_t nr)
{
	return nr == SYS_open || nr == SYS_openat || nr == SYS_creat;
}

static bool target_of(const struct event *ev, struct target *t)
{
	switch (ev->nr) {
	case SYS_open: return opens(t, AT_FDCWD, A(0), (unsigned)A(1));
	case SYS_openat: return opens(t, (int)A(0), A(1), (unsigned)A(2));
	case SYS_creat:
	case SYS_truncate:
	case SYS_chmod:
	case SYS_chown:
	case SYS_utime:
	case SYS_utimes: return by_path(t, AT_FDCWD, A(0), true);
	case SYS_unlink:
	case SYS_lchown: return by_path(t, AT_FDCWD, A(0), false);
	case SYS_unlinkat: return by_path(t, (int)A(0), A(1), false);
	case SYS_rename: return by_path(t, AT_FDCWD, A(1), false);
	case SYS_renameat:
	case SYS_renameat2: return by_path(t, (int)A(2), A(3), false);
	case SYS_link: return by_path(t, AT_FDCWD, A(0), false);
	case SYS_linkat: return by_path(t, (int)A(0), A(1), A(4) & AT_SYMLINK_FOLLOW);
	case SYS_fchmod:
	case SYS_fchown: return by_descriptor(t, A(0));
	case SYS_fchmodat:
	case FUTIMESAT: return by_both(t, ev, 0);
	case FCHMODAT2:
	case SYS_utimensat: return by_both(t, ev, A(3));
	case SYS_fchownat: return by_both(t, ev, A(4));
	case SYS_setxattr:
	case SYS_removexattr: return changed_xattr(t, by_path(t, AT_FDCWD, A(0), true), A(1));
	case SYS_lsetxattr:
	case SYS_lremovexattr: return changed_xattr(t, by_path(t, AT_FDCWD, A(0), false), A(1));
	case SYS_fsetxattr:
	case SYS_fremovexattr: return changed_xattr(t, by_descriptor(t, A(0)), A(1));
	case SETXATTRAT:
	case REMOVEXATTRAT: return changed_xattr(t, by_both(t, ev, A(2)), A(3));
	default: return false;
	}
}

static void fill(struct attributes *a, const struct stat *st)
{
	struct rdb_note_attributes *head = &a->note.head;
	head->mode = st->st_mode;
	head->uid = st->st_uid;
	head->gid = st->st_gid;
	head->links = (uint32_t)st->st_nlink;
	head->dev = st->st_dev;
	head->ino = st->st_ino;
	head->accessed_ns = (uint64_t)st->st_atim.tv_sec * 1000000000u + (uint64_t)st->st_atim.tv_nsec;
	head->modified_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
}

static void add_xattr(struct attributes *a, const char *place, const char *name)
{
	const size_t n = strnlen(name, XATTR_NAME_MAX + 1) + 1;
	struct rdb_note_attributes *head = &a->note.head;
	head->xattr = RDB_XATTR_LOST;
	if (n > XATTR_NAME_MAX + 1 || a->len + n > sizeof(a->note.text))
		return;
	memcpy(a->note.text + a->len, name, n);
	a->len += n;
	const ssize_t len = lgetxattr(place, name, a->note.text + a->len, sizeof(a->note.text) - a->len);
	if (len >= 0) {
		head->xattr = RDB_XATTR_HAD;
		a->len += (size_t)len;
	} else if (errno == ENODATA) {
		head->xattr = RDB_XATTR_NONE;
	}
}

void attributes_before(const struct event *ev, struct attributes *a)
{
	struct target t;
	struct stat st;
	char full[4096], place[4096];
	a->any = a->makes = false;
	if (((!recording() || !lower.started) && !undo_follows()) || !target_of(ev, &t) ||
	    !kept_name_of(t.dir, t.path, t.follow, full, place))
		return;
	a->len = strlen(full) + 1;
	if (a->len > sizeof(a->note.text))
		return;
	memset(&a->note.head, 0, sizeof(a->note.head));
	memcpy(a->note.text, full, a->len);
	a->note.head.path_bytes = (uint32_t)a->len;
	if (lstat(place, &st)) {
		a->any = a->makes = errno == ENOENT && opening(ev->nr);
		return;
	}
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return;
	a->any = true;
	fill(a, &st);
	if (t.xattr)
		add_xattr(a, place, t.xattr);
}

void attributes_after(struct event *ev, struct attributes *a)
{
	struct stat st;
	if (!a->any || ev->result < 0)
		return;
	if (a->makes) {
		if (fstat((int)ev->result, &st) || !S_ISREG(st.st_mode))
			return;
		fill(a, &st);
		a->note.head.made = 1;
	}
	event_note(ev, RDB_NOTE_ATTRIBUTES, &a->note, sizeof(a->note.head) + a->len);
}
