/* The paths of a branch's system calls: those of its own files lead to where these files are. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "restart/base/cut.h"
#include "restart/copies/own_files.h"
#include "restart/copies/own_table.h"
#include "restart/copies/written_copies.h"
#include "answer/path_argument.h"
#include "answer/undo.h"
#include "base/copy_bytes.h"
#include "base/descriptors.h"
#include "base/private_file.h"
#include "task/newer_calls.h"

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

void own_known_as(char *place)
{
	for (const struct own *o = own_table.file; o < own_table.file + own_table.n; o++) {
		const size_t len = o->path ? strlen(o->place) : 0;
		char name[LONGEST];
		if (!len || strncmp(place, o->place, len) || (place[len] && place[len] != '/'))
			continue;
		if (snprintf(name, sizeof(name), "%s%s", o->path, place + len) < (int)sizeof(name))
			strcpy(place, name);
		return;
	}
}

/* Takes out what means nothing: "//", "/." and "NAME/..". */
static void tidy(char *path)
{
	char *to = path;
	for (const char *at = path; *at;) {
		const size_t skip = strspn(at, "/"), len = strcspn(at + skip, "/");
		const char *name = at + skip;
		at = name + len;
		if (!len || (len == 1 && *name == '.'))
			continue;
		if (len == 2 && !memcmp(name, "..", 2)) {
			while (to > path && *--to != '/')
				;
			continue;
		}
		*to++ = '/';
		memmove(to, name, len);
		to += len;
	}
	if (to == path)
		*to++ = '/';
	*to = 0;
}

/* The full name that the program means; if its directory is gone, the name that it had. */
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
	if (!open_whole_path(AT_FDCWD, joined, full, follow))
		tidy(full);
	return true;
}

/* Replaces FULL, a link of the branch's own at PLACE, by the name to which it leads. */
static bool leads_on(char *full, const char *place)
{
	char target[LONGEST], whole[2 * LONGEST];
	const ssize_t len = readlink(place, target, sizeof(target) - 1);
	if (len <= 0)
		return false;
	target[len] = 0;
	const char *slash = strrchr(full, '/');
	const int dir = *target == '/' || !slash ? 0 : (int)(slash + 1 - full);
	const int n = snprintf(whole, sizeof(whole), "%.*s%s", dir, full, target);
	if (n >= LONGEST)
		return false;
	return open_whole_path(AT_FDCWD, whole, full, false);
}

enum { LINKS_MOST = 40 /* MAXSYMLINKS of the kernel */ };

/* Is the file, or would it be, the branch's own?  If it is a link, `full` and `place` are of what it leads to. */
static bool owned(uint64_t dirfd, uint64_t path, bool follow, char *full, char *place)
{
	if (!named(dirfd, (const char *)path, false, full))
		return false;
	if (!own_place_of(full, place))
		return follow && named(dirfd, (const char *)path, true, full) && own_place_of(full, place);
	for (unsigned i = 0; follow && i < LINKS_MOST && leads_on(full, place); i++)
		if (!own_place_of(full, place))
			strcpy(place, full);
	return true;
}

static void one_path(uint64_t dirfd, uint64_t *path, bool follow, char *room)
{
	char full[LONGEST];
	if (owned(dirfd, *path, follow, full, room))
		*path = (uint64_t)room;
}

/* A real file becomes the branch's own; it may be on another file system. */
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

enum { LINKS = 1 << 16 };

/* rename(2), link(2), with the flags of renameat2(2) or LINKS: a file of the branch's own gets the other name among its
 * own.  True: the call has been made. */
static bool two_paths(uint64_t from_dir, uint64_t *from, uint64_t to_dir, uint64_t *to, uint64_t flags,
		      char (*room)[LONGEST])
{
	char path[LONGEST], other[LONGEST];
	struct stat st;
	*path = *other = 0;
	const bool source = owned(from_dir, *from, false, path, room[0]);
	bool target = owned(to_dir, *to, false, other, room[1]);
	if (flags & RENAME_NOREPLACE && source != target && *path && *other && !lstat(target ? room[1] : other, &st)) {
		if (!source)
			strcpy(room[0], path);
		*from = *to = (uint64_t)room[0]; /* EEXIST, if there is what is to be renamed */
		return false;
	}
	if (!source && target && *from && !(flags & LINKS) && !lstat(path, &st) && !S_ISDIR(st.st_mode))
		return brought(path, room[1]);
	if (source && !target && *other && !access(room[0], F_OK)) {
		copy_place(room[1], LONGEST, other);
		own_new(other, room[1], true, false);
		undo_own(other, room[1]);
		target = true;
	}
	if (source)
		*from = (uint64_t)room[0];
	if (target)
		*to = (uint64_t)room[1];
	return false;
}

/* Two files of its own can be exchanged.  One and a real file cannot: EINVAL, as where the file system has no such call. */
static void exchanged(uint64_t a[6], char (*room)[LONGEST])
{
	char path[LONGEST];
	const bool one = owned(a[0], a[1], false, path, room[0]), other = owned(a[2], a[3], false, path, room[1]);
	if (one && other) {
		a[1] = (uint64_t)room[0];
		a[3] = (uint64_t)room[1];
	} else if (one || other) {
		a[4] = ~0ul;
	}
}

bool own_paths(uint64_t nr, uint64_t a[6], char (*room)[LONGEST])
{
	const uint64_t here = (uint64_t)AT_FDCWD;
	struct path_argument p;
	if (!own_table.n || lower.opt.in_place)
		return false;
	switch (nr) {
	case SYS_rename: return two_paths(here, &a[0], here, &a[1], 0, room);
	case SYS_link: return two_paths(here, &a[0], here, &a[1], LINKS, room);
	case SYS_renameat: return two_paths(a[0], &a[1], a[2], &a[3], 0, room);
	case SYS_renameat2:
		if (a[4] & RENAME_EXCHANGE)
			exchanged(a, room);
		else
			return two_paths(a[0], &a[1], a[2], &a[3], a[4], room);
		break;
	case SYS_linkat: return two_paths(a[0], &a[1], a[2], &a[3], LINKS, room);
	default:
		if (path_argument(nr, a, &p))
			one_path(p.dir < 0 ? here : a[p.dir], &a[p.at], p.follows, room[0]);
	}
	return false;
}
