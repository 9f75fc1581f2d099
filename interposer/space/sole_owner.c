#include "space/sole_owner.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "base/lower.h"
#include "base/private_file.h"
#include "base/proc_stat.h"
#include "space/floors.h"
#include "space/rank_dir.h"

static bool (*wanted)(uint64_t dev, uint64_t ino);

static int open_of(const char *pid, const char *what, int flags)
{
	char path[300];
	snprintf(path, sizeof(path), "/proc/%s/%s", pid, what);
	return descriptor_open(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | flags, 0);
}

/* Its start time; 0: the process is gone. */
static uint64_t began(const char *pid)
{
	char text[1024];
	unsigned long long at = 0;
	const char *fields = proc_stat(pid, text, sizeof(text));
	if (fields)
		sscanf(fields, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		       &at);
	return at;
}

/* For a process that cannot be read: it cannot have the memory if it is older than this process. */
static bool perhaps(const char *pid, int error)
{
	return error != -ENOENT && error != -ESRCH && began(pid) >= began("self");
}

static FILE *text_of(const char *pid, const char *what, int *error)
{
	const int fd = open_of(pid, what, 0);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	*error = fd < 0 ? fd : -ENOMEM;
	return f;
}

/* Of its mapping there, which is shared and not writable now: may mprotect(2) make it so?  (proc(5), VmFlags) */
static bool may_be_writable(const char *pid, unsigned long start)
{
	char line[4300];
	unsigned long from;
	bool here = false, may = false;
	int error;
	FILE *f = text_of(pid, "smaps", &error);
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%*x ", &from) == 1)
			here = from == start;
		else if (here && !strncmp(line, "VmFlags:", 8))
			may = strstr(line, " mw");
	}
	if (f)
		fclose(f);
	return may;
}

enum access { ANY, WRITES };

/* 1: it has such memory (WRITES: and can write there), 0: it has not, -errno: it cannot be read. */
static int maps(const char *pid, enum access access)
{
	char line[4300], kind[5];
	bool found = false;
	int error;
	FILE *f = text_of(pid, "maps", &error);
	if (!f)
		return error;
	while (!found && fgets(line, sizeof(line), f)) {
		unsigned long start, inode;
		unsigned major, minor;
		found = sscanf(line, "%lx-%*x %4s %*x %x:%x %lu", &start, kind, &major, &minor, &inode) == 5 && inode &&
			wanted((uint64_t)major << 20 | minor, inode);
		if (found && access == WRITES)
			found = kind[3] == 's' && (kind[1] == 'w' || may_be_writable(pid, start));
	}
	fclose(f);
	return found;
}

static bool open_for_writing(const char *pid, const char *descriptor)
{
	char what[300], text[512];
	unsigned flags = O_RDONLY;
	snprintf(what, sizeof(what), "/proc/%s/fdinfo/%s", pid, descriptor);
	descriptor_text(what, text, sizeof(text));
	const char *at = strstr(text, "flags:");
	return at && sscanf(at, "flags: %o", &flags) == 1 && (flags & O_ACCMODE) != O_RDONLY;
}

static bool opened_it(const char *pid, enum access access)
{
	bool found = false;
	const int fd = open_of(pid, "fd", O_DIRECTORY);
	DIR *all = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	if (!all)
		return perhaps(pid, fd);
	while (!found && (e = readdir(all))) {
		struct stat st;
		found = !fstatat(fd, e->d_name, &st, 0) &&
			wanted((uint64_t)major(st.st_dev) << 20 | minor(st.st_dev), st.st_ino) &&
			(access == ANY || open_for_writing(pid, e->d_name));
	}
	closedir(all);
	return found;
}

/* For all processes of the rank. */
static void passed_path(char *path, size_t size)
{
	rank_dir(path, size);
	strncat(path, "/passed", size - strlen(path) - 1);
}

void sole_owner_passed(void)
{
	char path[4200];
	passed_path(path, sizeof(path));
	const int fd = private_create(AT_FDCWD, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		rdb_warn("%s: %s: the other processes of the rank do not learn that a descriptor of shared memory was "
			 "sent to another process",
			 path, strerror(-fd));
	else
		close(fd);
}

/* Children that are not recorded do not report. */
static bool passed(void)
{
	char path[4200];
	passed_path(path, sizeof(path));
	return lower.opt.no_children || !access(path, F_OK);
}

static bool can_write(const char *pid)
{
	return maps(pid, WRITES) > 0;
}

static bool writes_out_of_turn(const char *pid)
{
	return !floors_has((uint32_t)atoi(pid)) && can_write(pid);
}

static bool has_it(const char *pid)
{
	const int found = maps(pid, ANY);
	return (found < 0 ? perhaps(pid, found) : found) || opened_it(pid, ANY);
}

bool is_recorded(uint32_t pid)
{
	char path[300];
	struct stat own, other;
	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	return !stat(path, &other) && !stat("/proc/self/exe", &own) && own.st_dev == other.st_dev &&
	       own.st_ino == other.st_ino;
}

static bool writes_recorded(const char *pid)
{
	return is_recorded((uint32_t)atoi(pid)) && (opened_it(pid, WRITES) || can_write(pid));
}

/* Is there no other process for which `has` is true? */
static bool no_other(bool (*has)(const char *pid))
{
	const int fd = descriptor_open(AT_FDCWD, "/proc", O_RDONLY | O_CLOEXEC | O_DIRECTORY, 0);
	DIR *all = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	bool none = all;
	while (none && (e = readdir(all)))
		none = e->d_name[0] < '1' || e->d_name[0] > '9' || atoi(e->d_name) == lower.pid || !has(e->d_name);
	if (all)
		closedir(all);
	return none;
}

bool sole_owner(bool (*is)(uint64_t dev, uint64_t ino))
{
	wanted = is;
	return !passed() && no_other(has_it);
}

bool sole_writer(bool (*is)(uint64_t dev, uint64_t ino))
{
	wanted = is;
	return no_other(can_write);
}

bool sole_writer_by_turns(bool (*is)(uint64_t dev, uint64_t ino))
{
	wanted = is;
	return no_other(writes_out_of_turn);
}

bool other_writer(bool (*is)(uint64_t dev, uint64_t ino))
{
	wanted = is;
	return !no_other(writes_recorded);
}
