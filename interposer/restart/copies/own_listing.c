/* Listings of directories in a branch: leaves out what the branch lacks, and adds its own files. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/lower.h"
#include "base/user.h"
#include "restart/copies/own_files.h"
#include "restart/copies/own_table.h"

struct entry { /* getdents(2): struct linux_dirent64 */
	uint64_t ino;
	int64_t off;
	uint16_t size;
	uint8_t type;
	char name[];
};

enum { NAME_AT = 19, MOST = 1 << 16 /* bytes of one call */ };

static bool there(const char *path, struct stat *st)
{
	return lstat(path, st) == 0;
}

/* Puts own files that have no real counterpart first.  Returns the bytes used. */
static size_t put_own(const char *dir, char *to, size_t room)
{
	const size_t len = strlen(dir);
	size_t end = 0;
	struct stat st;
	for (const struct own *o = own_table.file; o < own_table.file + own_table.n; o++) {
		if (!o->path || strncmp(o->path, dir, len) || o->path[len] != '/' || strchr(o->path + len + 1, '/') ||
		    there(o->path, &st) || !there(o->place, &st))
			continue;
		const char *name = o->path + len + 1;
		const size_t size = (NAME_AT + strlen(name) + 1 + 7) & ~7ul;
		if (end + size > room) {
			rdb_warn("%s: the listing of this directory lacks some of the branch's own files", dir);
			break;
		}
		struct entry *e = (struct entry *)(to + end);
		memset(e, 0, size);
		e->ino = st.st_ino;
		e->size = (uint16_t)size;
		e->type = IFTODT(st.st_mode);
		strcpy((char *)e + NAME_AT, name);
		end += size;
	}
	return end;
}

static size_t take_out(const char *dir, char *entries, size_t n)
{
	char full[LONGEST + 256];
	size_t kept = 0;
	struct stat st;
	for (size_t at = 0, size; at < n; at += size) {
		const struct entry *e = (const struct entry *)(entries + at);
		size = e->size;
		snprintf(full, sizeof(full), "%s/%s", dir, (const char *)e + NAME_AT);
		const struct own *o = own_find(full);
		if (o && !there(o->place, &st))
			continue;
		memmove(entries + kept, entries + at, size);
		kept += size;
	}
	return kept;
}

/* `entries` are ours: the program's memory gets no more than the call returns. */
static long listed(int fd, const char *dir, char *entries, size_t room)
{
	const size_t own = lseek(fd, 0, SEEK_CUR) == 0 ? put_own(dir, entries, room / 2) : 0;
	long n, kept;
	do {
		n = raw_syscall(SYS_getdents64, fd, (long)(entries + own), (long)(room - own), 0, 0, 0);
		kept = n > 0 ? (long)take_out(dir, entries + own, (size_t)n) : n;
	} while (n > 0 && !kept && !own);
	return kept >= 0 ? kept + (long)own : kept;
}

bool own_lists(int fd, char *entries, size_t room, long *result)
{
	char link[32], dir[LONGEST];
	if (!own_table.n || lower.opt.in_place)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	const ssize_t len = readlink(link, dir, sizeof(dir) - 1);
	if (len <= 0)
		return false;
	dir[len > 1 ? len : 0] = 0; /* names in the root begin with its slash alone */
	room = room < MOST ? room : MOST;
	const off_t from = lseek(fd, 0, SEEK_CUR);
	char *ours = mmap(NULL, MOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*result = ours == MAP_FAILED ? -ENOMEM : listed(fd, dir, ours, room);
	if (*result > 0 && user_write((uint64_t)entries, ours, (size_t)*result)) {
		*result = -EFAULT;
		lseek(fd, from, SEEK_SET);
	}
	if (ours != MAP_FAILED)
		munmap(ours, MOST);
	return true;
}
