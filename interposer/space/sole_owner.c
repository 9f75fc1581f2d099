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

/* 1: it has such memory, 0: it has not, -errno: it cannot be read. */
static int maps(const char *pid)
{
	char line[4300];
	bool found = false;
	const int fd = open_of(pid, "maps", 0);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f)
		return fd < 0 ? fd : -ENOMEM;
	while (!found && fgets(line, sizeof(line), f)) {
		unsigned long inode;
		unsigned major, minor;
		found = sscanf(line, "%*x-%*x %*s %*x %x:%x %lu", &major, &minor, &inode) == 3 && inode &&
			wanted((uint64_t)major << 20 | minor, inode);
	}
	fclose(f);
	return found;
}

static bool opened_it(const char *pid)
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
			wanted((uint64_t)major(st.st_dev) << 20 | minor(st.st_dev), st.st_ino);
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

static bool maps_it(const char *pid)
{
	return maps(pid) > 0;
}

static bool maps_out_of_turn(const char *pid)
{
	return !floors_has((uint32_t)atoi(pid)) && maps_it(pid);
}

static bool has_it(const char *pid)
{
	const int found = maps(pid);
	return (found < 0 ? perhaps(pid, found) : found) || opened_it(pid);
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

bool sole_mapper(bool (*is)(uint64_t dev, uint64_t ino))
{
	wanted = is;
	return no_other(maps_it);
}

bool sole_owners_by_turns(bool (*is)(uint64_t dev, uint64_t ino))
{
	wanted = is;
	return no_other(maps_out_of_turn);
}
