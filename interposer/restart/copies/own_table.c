#include "restart/copies/own_table.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/lower.h"
#include "base/descriptors.h"
#include "base/private_file.h"

#define HANDED "own-here"

/* Room for entries is only reserved, and texts never move. */
enum { ENTRIES = 1 << 21, TEXTS = 1 << 20 };

struct own_table own_table;

static void *room_for(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		rdb_fatal("out of memory for the list of a branch's own files");
	return p;
}

static uint32_t hash_of(const char *path)
{
	uint32_t hash = 2166136261u; /* FNV-1a */
	for (; *path; path++)
		hash = (hash ^ (uint8_t)*path) * 16777619u;
	return hash;
}

static const char *text(const char *s)
{
	static char *next, *end;
	const size_t n = strlen(s) + 1;
	if ((size_t)(end - next) < n) {
		next = room_for(TEXTS);
		end = next + TEXTS;
	}
	char *kept = memcpy(next, s, n);
	next += n;
	return kept;
}

struct own *own_find(const char *path)
{
	const uint32_t hash = hash_of(path);
	for (struct own *o = own_table.file; *path && o < own_table.file + own_table.n; o++)
		if (o->path && o->hash == hash && !strcmp(o->path, path))
			return o;
	return NULL;
}

void own_name(struct own *o, const char *path)
{
	o->path = text(path);
	o->hash = hash_of(path);
}

void own_target(struct own *o, const char *place)
{
	o->target = text(place);
}

void own_moved(struct own *o)
{
	o->place = o->target;
	o->target = NULL;
}

struct own *own_new(const char *path, const char *place, bool whole, bool left)
{
	if (!own_table.file)
		own_table.file = room_for(ENTRIES * sizeof(struct own));
	struct own *o = own_table.file;
	while (o < own_table.file + own_table.n && o->path)
		o++;
	if (o == own_table.file + ENTRIES)
		rdb_fatal("the branch has more than %d files of its own", ENTRIES);
	own_table.n += o == own_table.file + own_table.n;
	*o = (struct own){.place = text(place), .whole = whole, .left = left};
	own_name(o, path);
	return o;
}

void own_leave(struct own *o)
{
	o->path = NULL;
}

void own_drop(struct own *o)
{
	unlink(o->place);
	own_leave(o);
}

/* Without a log, processes share a directory. */
static void name_handed(char *out, size_t size, const char *dir)
{
	if (passing())
		snprintf(out, size, "%s/" HANDED "-%d", dir, lower.pid);
	else
		snprintf(out, size, "%s/" HANDED, dir);
}

int own_hand_on(const char *dir)
{
	char path[LONGEST + 32];
	if (lower.opt.in_place)
		return 0;
	name_handed(path, sizeof(path), dir);
	return own_list(path);
}

int own_list(const char *path)
{
	int rc = 0;
	if (!own_table.n)
		return 0;
	const int fd = private_create(AT_FDCWD, path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return fd;
	for (const struct own *o = own_table.file; o < own_table.file + own_table.n; o++)
		if (o->path && !strchr(o->path, '\n') && dprintf(fd, "%s\n%s\n", o->path, o->place) < 0)
			rc = -errno;
	return close(fd) && !rc ? -errno : rc;
}

void own_handed_on(const char *dir)
{
	char path[LONGEST + 32], place[LONGEST];
	name_handed(path, sizeof(path), dir);
	const int fd = descriptor_open(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (passing())
		unlink(path);
	FILE *lines = fd < 0 ? NULL : fdopen(fd, "r");
	while (lines && fgets(path, sizeof(path), lines) && fgets(place, sizeof(place), lines)) {
		path[strcspn(path, "\n")] = 0;
		place[strcspn(place, "\n")] = 0;
		own_new(path, place, true, false);
	}
	if (lines)
		fclose(lines);
}
