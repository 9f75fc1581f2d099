/* The paths of a branch's system calls: those of its own files lead to where these are. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "restart/live.h"
#include "restart/own_files.h"
#include "restart/own_table.h"
#include "restart/written_copies.h"
#include "base/copy_bytes.h"
#include "base/descriptors.h"
#include "base/private_file.h"

const char *own_place(const char *path)
{
	const struct own *o = own_find(path);
	return o ? o->place : NULL;
}

bool own_place_of(const char *full, char *out)
{
	char name[LONGEST];
	const struct own *o = own_table.n ? own_find(full) : NULL;
	if (!own_table.n)
		return false;
	if (o)
		return snprintf(out, LONGEST, "%s", o->place) < LONGEST;
	strcpy(name, full);
	for (char *slash = strrchr(name, '/'); slash && slash > name; slash = strrchr(name, '/')) {
		*slash = 0;
		o = own_find(name);
		if (o)
			return snprintf(out, LONGEST, "%s%s", o->place, full + (slash - name)) < LONGEST;
	}
	return false;
}

/* The name that the program means; where the directory is gone, the one that it had. */
static bool named(uint64_t dirfd, const char *text, bool follow, char *full)
{
	char joined[LONGEST], link[32];
	if (!text || !*text)
		return false;
	size_t n = strlen(text);
	while (n > 1 && text[n - 1] == '/')
		n--;
	*joined = 0;
	if ((int)dirfd != AT_FDCWD && *text != '/') {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", (int)dirfd);
		const ssize_t len = readlink(link, joined, sizeof(joined) - 2);
		if (len <= 0 || *joined != '/')
			return false;
		joined[len] = '/';
		joined[len + 1] = 0;
	}
	const size_t at = strlen(joined);
	if (at + n >= sizeof(joined))
		return false;
	memcpy(joined + at, text, n);
	joined[at + n] = 0;
	open_whole_path(AT_FDCWD, joined, full, follow);
	return true;
}

/* Is it, or would it be, the branch's own? */
static bool owned(uint64_t dirfd, uint64_t path, bool follow, char *full, char *place)
{
	if (!named(dirfd, (const char *)path, false, full))
		return false;
	if (own_place_of(full, place))
		return true;
	return follow && named(dirfd, (const char *)path, true, full) && own_place_of(full, place);
}

static void one_path(uint64_t dirfd, uint64_t *path, bool follow, char *room)
{
	char full[LONGEST];
	if (owned(dirfd, *path, follow, full, room))
		*path = (uint64_t)room;
}

/* A file of the real ones becomes the branch's own: what is there may be another file system. */
static bool brought(const char *from, const char *place)
{
	struct stat st;
	if (!rename(from, place))
		return true;
	if (errno != EXDEV || lstat(from, &st) || !S_ISREG(st.st_mode))
		return false;
	const int in = descriptor_open(AT_FDCWD, from, O_RDONLY | O_CLOEXEC, 0);
	const int out = in < 0 ? in : private_create(AT_FDCWD, place, O_RDWR | O_TRUNC | O_CLOEXEC);
	bool whole = out >= 0 && copy_bytes(in, out, (uint64_t)st.st_size) == st.st_size &&
		     !fchmod(out, st.st_mode & 07777);
	if (out >= 0 && close(out))
		whole = false;
	if (in >= 0)
		close(in);
	return whole && !unlink(from);
}

/* rename(2), link(2): what the branch has of its own gets the other name among its own.  True: that was it. */
static bool two_paths(uint64_t from_dir, uint64_t *from, uint64_t to_dir, uint64_t *to, bool links,
		      char (*room)[LONGEST])
{
	char path[LONGEST], other[LONGEST];
	struct stat st;
	const bool source = owned(from_dir, *from, false, path, room[0]);
	bool target = owned(to_dir, *to, false, other, room[1]);
	if (!source && target && *from && !links && !lstat(path, &st) && !S_ISDIR(st.st_mode))
		return brought(path, room[1]);
	if (source && !target && *other && !access(room[0], F_OK)) {
		copy_place(room[1], LONGEST, other);
		own_new(other, room[1], true, false);
		target = true;
	}
	if (source)
		*from = (uint64_t)room[0];
	if (target)
		*to = (uint64_t)room[1];
	return false;
}

bool own_paths(uint64_t nr, uint64_t a[6], char (*room)[LONGEST])
{
	const uint64_t here = (uint64_t)AT_FDCWD;
	if (!own_table.n || lower.opt.in_place)
		return false;
	switch (nr) {
	case 2:   /* open */
	case 4:   /* stat */
	case 21:  /* access */
	case 59:  /* execve */
	case 76:  /* truncate */
	case 80:  /* chdir */
	case 85:  /* creat */
	case 90:  /* chmod */
	case 92:  /* chown */
	case 132: /* utime */
	case 137: /* statfs */
	case 188: /* setxattr */
	case 191: /* getxattr */
	case 194: /* listxattr */
	case 197: /* removexattr */
	case 235: /* utimes */ one_path(here, &a[0], true, room[0]); break;
	case 6:   /* lstat */
	case 83:  /* mkdir */
	case 84:  /* rmdir */
	case 89:  /* readlink */
	case 133: /* mknod */
	case 87:  /* unlink */
	case 189: /* lsetxattr */
	case 192: /* lgetxattr */
	case 195: /* llistxattr */
	case 198: /* lremovexattr */
	case 94: /* lchown */ one_path(here, &a[0], false, room[0]); break;
	case 254: /* inotify_add_watch */ one_path(here, &a[1], true, room[0]); break;
	case 322: /* execveat */
	case 257: /* openat */
	case 260: /* fchownat */
	case 261: /* futimesat */
	case 262: /* newfstatat */
	case 268: /* fchmodat */
	case 269: /* faccessat */
	case 280: /* utimensat */
	case 332: /* statx */
	case 437: /* openat2 */
	case 439: /* faccessat2 */
	case 452: /* fchmodat2 */
	case 463: /* setxattrat */
	case 464: /* getxattrat */
	case 465: /* listxattrat */
	case 466: /* removexattrat */ one_path(a[0], &a[1], true, room[0]); break;
	case 258: /* mkdirat */
	case 259: /* mknodat */
	case 263: /* unlinkat */
	case 267: /* readlinkat */ one_path(a[0], &a[1], false, room[0]); break;
	case 88: /* symlink */ one_path(here, &a[1], false, room[0]); break;
	case 266: /* symlinkat */ one_path(a[1], &a[2], false, room[0]); break;
	case 82: /* rename */ return two_paths(here, &a[0], here, &a[1], false, room);
	case 86: /* link */ return two_paths(here, &a[0], here, &a[1], true, room);
	case 316:             /* renameat2 */
		if (a[4] & 2) /* RENAME_EXCHANGE */
			break;
		/* fallthrough */
	case 264: /* renameat */ return two_paths(a[0], &a[1], a[2], &a[3], false, room);
	case 265: /* linkat */ return two_paths(a[0], &a[1], a[2], &a[3], true, room);
	default: break;
	}
	return false;
}
