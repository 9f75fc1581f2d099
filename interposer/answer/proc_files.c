#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/descriptors.h"
#include "base/pids.h"
#include "base/user.h"
#include "space/arena.h"
#include "space/ends.h"
#include "answer/memory_calls.h"
#include "answer/own_proc.h"
#include "answer/proc_files.h"
#include "answer/proc_status.h"
#include "answer/seccomp_calls.h"
#include "task/signals.h"
#include "task/thread.h"

/* The last line of the map, which may still be extended. */
static struct {
	uint64_t start, end;
	char rest[4096 + 256]; /* what follows the addresses */
} pending;

static void put_pending(int fd)
{
	static char text[sizeof(pending.rest) + 256];
	int path_at = (int)strlen(pending.rest), n;
	if (pending.start == pending.end)
		return;
	char *protection = strstr(pending.rest, " -w-p ");
	if (protection) /* made_text.h */
		memcpy(protection, " rwx", 4);
	sscanf(pending.rest, "%*s %*s %*s %*s %n", &path_at);
	const char *path = pending.rest + path_at;
	if (pending.start == RDB_BRK)
		path = "[heap]";
	else if (pending.end == RDB_STACK_TOP)
		path = "[stack]";
	else
		path = memory_asked_for(path);
	/* fs/proc/task_mmu.c: names start in column 73 */
	n = snprintf(text, sizeof(text), "%08lx-%08lx%.*s", (unsigned long)pending.start, (unsigned long)pending.end,
		     path_at, pending.rest);
	if (*path)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%*s%s", n < 73 ? 73 - n : 0, "", path);
	text[n++] = '\n';
	proc_put(fd, text, (size_t)n);
	pending.start = pending.end;
}

static void put_part(int fd, uint64_t start, uint64_t end, const char *rest)
{
	const struct file_mapping *f = arena_file_at(start);
	put_pending(fd);
	pending.start = start;
	pending.end = end;
	snprintf(pending.rest, sizeof(pending.rest), "%s", rest);
	if (f && f->read_only && pending.rest[4] == 'p')
		pending.rest[4] = 's'; /* we have mapped a copy */
}

/* Pages behind the end of a file, which we have made inaccessible: shown as part of the mapping in the line before. */
static void put_closed(int fd, const uint64_t part[2], int prot)
{
	const struct file_mapping *f = arena_file_at(part[0]), *before = arena_file_at(pending.start);
	char rest[sizeof(pending.rest)];
	int file_at = 0;
	const char text[] = {prot & PROT_READ ? 'r' : '-', prot & PROT_WRITE ? 'w' : '-', prot & PROT_EXEC ? 'x' : '-',
			     0};
	const bool same = f && before && !strcmp(f->key, before->key);
	if (same && pending.start < pending.end && pending.end == part[0] && !strncmp(pending.rest + 1, text, 3) &&
	    before->start == f->start - (f->offset - before->offset)) {
		pending.end = part[1];
		return;
	}
	if (same)
		sscanf(pending.rest, "%*s %*s %n", &file_at);
	snprintf(rest, sizeof(rest), " %sp %08lx %s", text, f ? (unsigned long)(f->offset + (part[0] - f->start)) : 0,
		 file_at ? pending.rest + file_at : "00:00 0 ");
	put_part(fd, part[0], part[1], rest);
}

/* Takes one line of the kernel's map, until they are about the lower half. */
static int put_mapping(const char *line, void *arg)
{
	const int fd = *(const int *)arg;
	unsigned long start, end;
	uint64_t part[2];
	int rest = 0, prot = 0;
	if (sscanf(line, "%lx-%lx%n", &start, &end, &rest) < 2 || start >= RDB_UPPER_END)
		return MAPS_END;
	if (!RDB_IS_UPPER(start))
		return 0;
	if (start < RDB_GATE + 2 * RDB_PAGE && end > RDB_GATE)
		return 0;
	while (ends_known && ends_closed(start, end, part, &prot)) {
		if (start < part[0])
			put_part(fd, start, part[0], line + rest);
		put_closed(fd, part, prot);
		start = part[1];
	}
	if (start < end)
		put_part(fd, start, end, line + rest);
	return 0;
}

static int put_maps(int fd)
{
	const int from = descriptor_open(AT_FDCWD, "/proc/self/maps", O_RDONLY, 0);
	if (from < 0)
		return from;
	const int rc = maps_lines(from, put_mapping, &fd);
	put_pending(fd);
	close(from);
	return rc;
}

/* The program may have changed this memory, or unmapped it: what is there. */
static void put_memory(int fd, uint64_t from, uint64_t end)
{
	char part[256];
	for (size_t n; from < end; from += n) {
		n = end - from < sizeof(part) ? end - from : sizeof(part);
		if (user_read(part, from, n))
			return;
		proc_put(fd, part, n);
	}
}

/* get_mm_cmdline() in fs/proc/base.c: where the last argument does not end, the program has written a title over all of
 * them, and perhaps over its environment. */
static void put_arguments(int fd)
{
	const struct upper_state *u = &lower.upper;
	const uint64_t page = u->arguments + RDB_PAGE;
	char last = 0;
	uint64_t end = u->variables;
	if (end > u->arguments && !user_read(&last, end - 1, 1) && last)
		for (end = u->arguments; end < page && !user_read(&last, end, 1) && (end++, last);)
			;
	put_memory(fd, u->arguments, end);
}

/* The kernel's file of limits, of any process, where the program knows other values. */
static bool open_limits(int dir, const char *path, unsigned flags, long *result)
{
	const char *slash = path ? strrchr(path, '/') : NULL, *base = slash ? slash + 1 : path;
	char text[4096], link[32], target[64];
	if (!base || strcmp(base, "limits") != 0)
		return false;
	const int from = descriptor_open(dir, path, O_RDONLY | O_CLOEXEC, 0);
	if (from < 0)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", from);
	ssize_t n = readlink(link, target, sizeof(target) - 1);
	target[n < 0 ? 0 : n] = 0;
	n = strncmp(target, "/proc/", 6) != 0 ? -1 : read(from, text, sizeof(text) - 1);
	close(from);
	text[n < 0 ? 0 : n] = 0;
	if (!proc_status_limits_differ(text))
		return false;
	const int fd = memfd_create("limits", flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
	*result = fd < 0 ? -errno : fd;
	if (fd < 0)
		return true;
	proc_status_limits(fd, text);
	lseek(fd, 0, SEEK_SET);
	return true;
}

bool proc_files_open(int dir, const char *path, unsigned flags, long *result)
{
	static const char *const names[] = {"maps", "cmdline", "environ", "auxv", "status", "stat", "statm"};
	enum { STATUS = 4, STAT, STATM, NAMES };
	char name[OWN_PROC_NAME];
	unsigned which = 0;
	int tid;
	if (!lower.started || (flags & O_ACCMODE) != O_RDONLY || flags & O_PATH)
		return false;
	if (open_limits(dir, path, flags, result))
		return true;
	if (!own_proc_file(dir, path, name, &tid))
		return false;
	while (which < NAMES && strcmp(name, names[which]))
		which++;
	struct status_of of = {0};
	if (which == NAMES || (which >= STATUS && !proc_status_of(tid, &of)))
		return false;
	int fd = memfd_create(names[which], flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
	*result = fd < 0 ? -errno : fd;
	if (fd < 0)
		return true;
	int rc = 0;
	if (passing()) /* threads run at the same time, and the buffers are static */
		threads_lock();
	switch (which) {
	case 0: rc = put_maps(fd); break;
	case 1: put_arguments(fd); break;
	case 2: put_memory(fd, lower.upper.variables, lower.upper.strings_end); break;
	case 3: proc_put(fd, (const char *)lower.upper.auxv_addr, lower.upper.auxv_len); break;
	case STATUS: rc = proc_status_put(fd, &of); break;
	case STAT: rc = proc_status_stat(fd, &of); break;
	case STATM: rc = proc_status_memory(fd, &of); break;
	}
	if (passing())
		threads_unlock();
	if (rc || lseek(fd, 0, SEEK_SET) < 0) {
		*result = rc ? rc : -errno;
		close(fd);
	}
	return true;
}

static bool target_of(int fd, char target[64])
{
	char link[32];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, target, 63);
	target[n < 0 ? 0 : n] = 0;
	return n > 0;
}

/* Of a thread of the program, or of the first one, which the kernel lists after its end, too. */
static bool is_thread(int tid)
{
	for (const struct thread *t = threads_first(); t; t = t->next)
		if (t->carrier == tid)
			return true;
	return tid == lower.pid;
}

static bool is_shown(int number, bool of_threads)
{
	return of_threads ? is_thread(number) : !descriptor_is_ours(number);
}

/* getdents(2): the record's length is at the same offset in both forms, the name is not */
static long without_ours(long nr, char *entries, long len, bool of_threads)
{
	long kept = 0;
	for (long at = 0; at < len;) {
		uint16_t size;
		memcpy(&size, entries + at + 16, sizeof(size));
		char *end;
		const char *name = entries + at + (nr == SYS_getdents64 ? 19 : 18);
		const long number = strtol(name, &end, 10);
		if (end == name || *end || is_shown((int)number, of_threads)) {
			memmove(entries + kept, entries + at, size);
			kept += size;
		}
		at += size;
	}
	return kept;
}

/* Processes and threads by the names that the program knows. `out` has twice the room. */
static long with_ids(long nr, const char *entries, long len, char *out)
{
	const size_t name_at = nr == SYS_getdents64 ? 19 : 18;
	long made = 0;
	for (long at = 0; at < len;) {
		uint16_t size, now;
		char *end;
		memcpy(&size, entries + at + 16, sizeof(size));
		const char *name = entries + at + name_at, type = entries[at + size - 1];
		const long id = strtol(name, &end, 10);
		char *to = out + made;
		memcpy(to, entries + at, now = size);
		if (end > name && !*end) {
			const int n = snprintf(to + name_at, 16, "%d", threads_number_known((int32_t)id));
			now = (uint16_t)((name_at + (size_t)n + 1 + (nr == SYS_getdents) + 7) & ~7ul);
			if (nr == SYS_getdents)
				to[now - 1] = type;
			memcpy(to + 16, &now, sizeof(now));
		}
		made += now;
		at += size;
	}
	return made;
}

/* proc(5): task/TID/fd shows what fd shows. */
static bool lists_descriptors(const char *name)
{
	int at = 0;
	if (sscanf(name, "task/%*u/%n", &at) == 0)
		name += at;
	return !strcmp(name, "fd") || !strcmp(name, "fdinfo");
}

bool proc_files_list(long nr, int fd, uint64_t entries, size_t size, long *result)
{
	/* not read into the program's memory, which must not get the entries that are left out */
	char all[8192], shown[2 * sizeof(all)], target[64];
	const char *name = target_of(fd, target) ? own_proc_below(target) : NULL;
	int end = 0;
	const bool descriptors = name && lists_descriptors(name), threads = name && !strcmp(name, "task"),
		   ids = pids() && (!strcmp(target, "/proc") || (sscanf(target, "/proc/%*u/task%n", &end) == 0 && end));
	if (!descriptors && !ids && !threads)
		return false;
	if (ids)
		size /= 2;
	const off_t from = lseek(fd, 0, SEEK_CUR);
	do {
		*result = raw_syscall(nr, fd, (long)all, (long)(size < sizeof(all) ? size : sizeof(all)), 0, 0, 0);
		if (*result <= 0)
			return true;
		if (descriptors || threads)
			*result = without_ours(nr, all, *result, threads);
		if (ids)
			*result = with_ids(nr, all, *result, shown);
	} while (!*result);
	if (user_write(entries, ids ? shown : all, (size_t)*result)) {
		*result = -EFAULT;
		lseek(fd, from, SEEK_SET);
	}
	return true;
}
