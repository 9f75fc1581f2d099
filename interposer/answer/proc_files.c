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
#include "answer/seccomp_calls.h"
#include "task/signals.h"
#include "task/thread.h"

static void put(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);
		if (n <= 0)
			rdb_fatal("the contents of a /proc file cannot be prepared in memory: %s", strerror(errno));
		text += n;
		len -= (size_t)n;
	}
}

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
	put(fd, text, (size_t)n);
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
		put(fd, part, n);
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

/* The thread whose status file this is: own_proc_file(). */
static const struct thread *status_of(int tid)
{
	if (tid <= 0)
		return tid ? thread_self() : threads_find(1);
	for (const struct thread *t = threads_first(); t; t = t->next)
		if (t->carrier == tid)
			return t;
	return NULL;
}

static uint64_t *shown_as(struct signals_shown *shown, const char *line)
{
	static const char names[][8] = {"SigPnd:", "ShdPnd:", "SigBlk:", "SigIgn:", "SigCgt:"};
	uint64_t *const of[] = {&shown->pending, &shown->shared, &shown->blocked, &shown->ignored, &shown->caught};
	for (unsigned i = 0; i < 5; i++)
		if (!strncmp(line, names[i], 7))
			return of[i];
	return NULL;
}

/* A line of a status file with one id, in every namespace of which we know nothing. */
static bool put_id(int fd, const char *line)
{
	static const struct {
		const char *name;
		int32_t (*known)(int32_t);
	} rows[] = {{"Tgid:", threads_number_known},   {"Ngid:", threads_number_known},
		    {"Pid:", threads_number_known},    {"PPid:", pid_parent_known},
		    {"NStgid:", threads_number_known}, {"NSpid:", threads_number_known},
		    {"NSpgid:", pid_group_known},      {"NSsid:", pid_session_known}};
	char made[64];
	for (unsigned i = 0; pids() && i < sizeof(rows) / sizeof(*rows); i++)
		if (!strncmp(line, rows[i].name, strlen(rows[i].name))) {
			put(fd, made,
			    (size_t)snprintf(made, sizeof(made), "%s\t%d\n", rows[i].name,
					     rows[i].known(atoi(line + strlen(rows[i].name)))));
			return true;
		}
	return false;
}

static ssize_t read_task(const struct thread *t, const char *name, char *text, size_t room)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/task/%d/%s", t->carrier, name);
	const int from = descriptor_open(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (from < 0)
		return from;
	const ssize_t n = read(from, text, room - 1);
	close(from);
	text[n < 0 ? 0 : n] = 0;
	return n;
}

/* proc(5): the kernel's file with the ids that the program knows. */
static int put_stat(int fd, const struct thread *t)
{
	static char text[4096];
	char made[64], state;
	int parent, group, session, terminal, foreground, used = 0;
	const ssize_t n = read_task(t, "stat", text, sizeof(text));
	const char *name = strchr(text, '('), *rest = strrchr(text, ')');
	if (n < 0)
		return (int)n;
	if (!name || !rest ||
	    sscanf(rest, ") %c %d %d %d %d %d%n", &state, &parent, &group, &session, &terminal, &foreground, &used) !=
		    6)
		return -EIO;
	put(fd, made, (size_t)snprintf(made, sizeof(made), "%d ", t->upper.tid));
	put(fd, name, (size_t)(rest - name));
	put(fd, made,
	    (size_t)snprintf(made, sizeof(made), ") %c %d %d %d %d %d", state, pid_parent_known(parent),
			     pid_group_known(group), pid_session_known(session), terminal,
			     pid_group_known(foreground)));
	put(fd, rest + used, strlen(rest + used));
	return 0;
}

/* proc(5): the kernel's file with our own values for signals, filters, ids and the number of threads. */
static int put_status(int fd, const struct thread *t)
{
	static char text[16384];
	struct signals_shown shown = {0};
	unsigned filters = 0; /* of the kernel */
	const ssize_t n = read_task(t, "status", text, sizeof(text));
	if (n < 0)
		return (int)n;
	for (int pass = 0; pass < 2; pass++) {
		for (const char *line = text; *line;) {
			const char *end = strchrnul(line, '\n');
			uint64_t *value = shown_as(&shown, line);
			char made[64];
			if (!pass && value)
				*value = strtoul(line + 7, NULL, 16);
			if (!pass && !strncmp(line, "Seccomp_filters:", 16))
				filters = (unsigned)strtoul(line + 16, NULL, 10);
			end += *end == '\n';
			if (pass && value)
				put(fd, made,
				    (size_t)snprintf(made, sizeof(made), "%.7s\t%016lx\n", line,
						     (unsigned long)*value));
			else if (pass && !strncmp(line, "Seccomp:", 8))
				put(fd, made,
				    (size_t)snprintf(made, sizeof(made), "Seccomp:\t%d\n", seccomp_mode(t, filters)));
			else if (pass && !strncmp(line, "Seccomp_filters:", 16))
				put(fd, made,
				    (size_t)snprintf(made, sizeof(made), "Seccomp_filters:\t%u\n",
						     seccomp_filters(t, filters)));
			else if (pass && !strncmp(line, "Threads:", 8))
				put(fd, made, (size_t)snprintf(made, sizeof(made), "Threads:\t%u\n", lower.threads));
			else if (pass && !put_id(fd, line))
				put(fd, line, (size_t)(end - line));
			line = end;
		}
		signals_show(t, &shown);
	}
	return 0;
}

bool proc_files_open(int dir, const char *path, unsigned flags, long *result)
{
	static const char *const names[] = {"maps", "cmdline", "environ", "auxv", "status", "stat"};
	enum { STATUS = 4, STAT, NAMES };
	char name[OWN_PROC_NAME];
	unsigned which = 0;
	int tid;
	if (!lower.started || (flags & O_ACCMODE) != O_RDONLY || flags & O_PATH ||
	    !own_proc_file(dir, path, name, &tid))
		return false;
	while (which < NAMES && strcmp(name, names[which]))
		which++;
	const struct thread *t = which >= STATUS && which < NAMES ? status_of(tid) : NULL;
	if ((which >= STATUS && !t) || (which == STAT && !pids()))
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
	case STATUS: rc = put_status(fd, t); break;
	case STAT: rc = put_stat(fd, t); break;
	case 3: put(fd, (const char *)lower.upper.auxv_addr, lower.upper.auxv_len); break;
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

/* getdents(2): the record's length is at the same offset in both forms, the name is not */
static long without_ours(long nr, char *entries, long len)
{
	long kept = 0;
	for (long at = 0; at < len;) {
		uint16_t size;
		memcpy(&size, entries + at + 16, sizeof(size));
		char *end;
		const char *name = entries + at + (nr == SYS_getdents64 ? 19 : 18);
		long fd = strtol(name, &end, 10);
		if (end == name || *end || !descriptor_is_ours((int)fd)) {
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

bool proc_files_list(long nr, int fd, uint64_t entries, size_t size, long *result)
{
	/* not read into the program's memory, which must not get the entries that are left out */
	char all[8192], shown[2 * sizeof(all)], target[64];
	const char *name = target_of(fd, target) ? own_proc_below(target) : NULL;
	int end = 0;
	const bool descriptors = name && (!strcmp(name, "fd") || !strcmp(name, "fdinfo")),
		   ids = pids() && (!strcmp(target, "/proc") || (sscanf(target, "/proc/%*u/task%n", &end) == 0 && end));
	if (!descriptors && !ids)
		return false;
	if (ids)
		size /= 2;
	const off_t from = lseek(fd, 0, SEEK_CUR);
	do {
		*result = raw_syscall(nr, fd, (long)all, (long)(size < sizeof(all) ? size : sizeof(all)), 0, 0, 0);
		if (*result <= 0)
			return true;
		*result = ids ? with_ids(nr, all, *result, shown) : without_ours(nr, all, *result);
	} while (!*result);
	if (user_write(entries, ids ? shown : all, (size_t)*result)) {
		*result = -EFAULT;
		lseek(fd, from, SEEK_SET);
	}
	return true;
}
