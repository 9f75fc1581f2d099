/* The paths of a branch's system calls: those of its own files lead to where these are. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "live/live.h"
#include "live/own_files.h"
#include "live/own_table.h"
#include "live/written_copies.h"

const char *own_place(const char *path)
{
	const struct own *o = own_find(path);
	return o ? o->place : NULL;
}

static struct own *of_path(uint64_t dirfd, uint64_t path, bool follow, char *full)
{
	const char *text = (const char *)path;
	if (!text || !*text || ((int)dirfd != AT_FDCWD && *text != '/'))
		return NULL;
	open_whole_path(AT_FDCWD, text, full, follow); /* where the directory is gone, by the name that it had */
	return own_find(full);
}

static void one_path(uint64_t dirfd, uint64_t *path, bool follow)
{
	char full[LONGEST];
	const struct own *o = of_path(dirfd, *path, follow, full);
	if (o)
		*path = (uint64_t)o->place;
}

/* rename(2), link(2): what the branch has of its own gets the other name among its own. */
static void two_paths(uint64_t from_dir, uint64_t *from, uint64_t to_dir, uint64_t *to)
{
	char full[LONGEST], other[LONGEST] = "", place[LONGEST];
	const struct own *o = of_path(from_dir, *from, false, full);
	struct own *target = of_path(to_dir, *to, false, other);
	if (!o && target && *from) {
		*target->path = 0; /* the real one, from now on */
		return;
	}
	if (!o || access(o->place, F_OK)) {
		*from = o ? (uint64_t)o->place : *from;
		return;
	}
	if (!target && *other) {
		copy_place(place, sizeof(place), other);
		target = own_new(other, place, true, false);
	}
	if (target) {
		*from = (uint64_t)o->place;
		*to = (uint64_t)target->place;
	}
}

void own_paths(uint64_t nr, uint64_t a[6])
{
	if (!own_table.n || lower.opt.in_place)
		return;
	switch (nr) {
	case 2:   /* open */
	case 4:   /* stat */
	case 21:  /* access */
	case 76:  /* truncate */
	case 85:  /* creat */
	case 90:  /* chmod */
	case 92:  /* chown */
	case 132: /* utime */
	case 235: /* utimes */ one_path((uint64_t)AT_FDCWD, &a[0], true); break;
	case 6:  /* lstat */
	case 87: /* unlink */
	case 94: /* lchown */ one_path((uint64_t)AT_FDCWD, &a[0], false); break;
	case 257: /* openat */
	case 260: /* fchownat */
	case 262: /* newfstatat */
	case 268: /* fchmodat */
	case 269: /* faccessat */
	case 280: /* utimensat */
	case 332: /* statx */
	case 437: /* openat2 */
	case 439: /* faccessat2 */ one_path(a[0], &a[1], true); break;
	case 263: /* unlinkat */ one_path(a[0], &a[1], false); break;
	case 82: /* rename */
	case 86: /* link */ two_paths((uint64_t)AT_FDCWD, &a[0], (uint64_t)AT_FDCWD, &a[1]); break;
	case 316:             /* renameat2 */
		if (a[4] & 2) /* RENAME_EXCHANGE */
			break;
		/* fallthrough */
	case 264: /* renameat */
	case 265: /* linkat */ two_paths(a[0], &a[1], a[2], &a[3]); break;
	default: break;
	}
}
