#include "answer/distribution.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/io.h"
#include "base/private_file.h"
#include "base/user.h"
#include "include/rdb.h"

enum { MOST = 40 }; /* an array has fewer than 2^MOST bytes, and so many rows */

/* Does such a part exist?  Its last row and its bytes fit into MOST bits then. */
static bool makes_sense(const struct distributed *part)
{
	const uint64_t most = 1ull << MOST;
	for (const char *c = part->name; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '_')
			return false;
	if (!part->name[0] || !part->row || part->row >= most || part->first >= most || part->count >= most)
		return false;
	if (!part->count)
		return true;
	if (!part->block || part->block > part->count || part->step < (part->block < part->count ? part->block : 0) ||
	    part->step >= most)
		return false;
	const __uint128_t last = part->first + (__uint128_t)((part->count - 1) / part->block) * part->step +
				 part->block;
	return last * part->row < most && RDB_IS_UPPER(part->address) &&
	       RDB_IS_UPPER(part->address + part->count * part->row);
}

/* What the program tells.  0 or -errno. */
static int told(const struct event *ev, struct distributed *part)
{
	struct rdb_part given;
	memset(part, 0, sizeof(*part));
	if (user_read(&given, ev->args[2], sizeof(given)))
		return -EFAULT;
	for (size_t i = 0; i == 0 || part->name[i - 1]; i++) {
		if (i == sizeof(part->name))
			return -EINVAL;
		if (user_read(&part->name[i], (uint64_t)given.name + i, 1))
			return -EFAULT;
	}
	part->address = (uint64_t)given.address;
	part->row = given.row;
	part->first = (uint64_t)given.rows.first;
	part->count = (uint64_t)given.rows.number;
	part->block = (uint64_t)given.rows.block;
	part->step = (uint64_t)given.rows.step;
	if (part->block > part->count)
		part->block = part->count;
	return makes_sense(part) ? 0 : -EINVAL;
}

/* Where the part is noted, or will be; NULL: there is no room. */
static struct distributed *place_of(const struct distributed *part)
{
	struct distributed *unused = NULL;
	for (unsigned i = DISTRIBUTED; i--;) {
		struct distributed *one = &lower.upper.distributed[i];
		if (!one->count)
			unused = one;
		else if (one->first == part->first && !strcmp(one->name, part->name))
			return one;
	}
	return unused;
}

long distribute_answered(const struct event *ev)
{
	struct distributed part;
	const int rc = told(ev, &part);
	return rc ? rc : !part.count || place_of(&part) ? 0 : -ENOMEM;
}

void distribute_done(const struct event *ev)
{
	struct distributed part, *all = lower.upper.distributed;
	if (ev->result || told(ev, &part))
		return;
	if (part.count) {
		*place_of(&part) = part;
		return;
	}
	for (unsigned i = 0; i < DISTRIBUTED; i++) /* the rank has none of its rows any more */
		if (!strcmp(all[i].name, part.name))
			all[i].count = 0;
}

/* Calls what(memory, bytes, place in the array, arg) for each block of the part.  0 or -errno. */
static int each_block(const struct distributed *part, int (*what)(uint64_t, uint64_t, uint64_t, const void *),
		      const void *arg)
{
	int rc = 0;
	for (uint64_t i = 0, first = part->first; i < part->count && !rc; i += part->block, first += part->step) {
		const uint64_t left = part->count - i, n = left < part->block ? left : part->block;
		rc = what(part->address + i * part->row, n * part->row, first * part->row, arg);
	}
	return rc;
}

static int file_of(const struct distributed *part, const char *folder, int flags)
{
	char path[4096];
	if ((size_t)snprintf(path, sizeof(path), "%s/%s-%lu", folder, part->name, (unsigned long)part->row) >=
	    sizeof(path))
		return -ENAMETOOLONG;
	return flags & O_CREAT ? private_create(AT_FDCWD, path, flags) : descriptor_open(AT_FDCWD, path, flags, 0);
}

/* ---- from the checkpoint ---- */

static int write_block(uint64_t memory, uint64_t len, uint64_t at, const void *arg)
{
	return io_write_all(*(const int *)arg, (const void *)memory, len, at, len);
}

int distribution_write(const char *folder)
{
	int rc = 0;
	for (unsigned i = 0; i < DISTRIBUTED && !rc; i++) {
		const struct distributed *part = &lower.upper.distributed[i];
		if (!part->count)
			continue;
		const int fd = file_of(part, folder, O_WRONLY | O_CREAT);
		rc = fd < 0 ? fd : each_block(part, write_block, &fd);
		if (fd >= 0 && close(fd) && !rc)
			rc = -errno;
		if (rc == -EFAULT)
			rdb_warn("rows of the array %s were at %#lx, where the program has no memory any more",
				 part->name, (unsigned long)part->address);
		else if (rc)
			rdb_warn("%s: the array %s cannot be written: %s", folder, part->name, strerror(-rc));
		else if (dprintf(STDOUT_FILENO, "%s %lu %lu %lu %lu %lu\n", part->name, (unsigned long)part->row,
				 (unsigned long)part->first, (unsigned long)part->count, (unsigned long)part->block,
				 (unsigned long)part->step) < 0)
			rc = -errno;
	}
	return rc;
}

/* ---- to the new job ---- */

static int read_block(uint64_t memory, uint64_t len, uint64_t at, const void *arg)
{
	return user_write(memory, (const char *)arg + at, len);
}

/* 0 or -errno.  -ERANGE: the array has no such rows. */
static int read_rows(const struct distributed *part, int fd)
{
	const uint64_t whole = (part->count - 1) / part->block, rest = part->count - whole * part->block;
	struct stat st;
	if (fstat(fd, &st))
		return -errno;
	const uint64_t size = (uint64_t)st.st_size;
	if ((part->first + whole * part->step + rest) * part->row > size)
		return -ERANGE;
	void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	const int rc = each_block(part, read_block, map);
	munmap(map, size);
	return rc;
}

long redistribute_answered(struct event *ev)
{
	const char *folder = getenv("RDB_REDISTRIBUTED");
	struct distributed part;
	int rc = told(ev, &part);
	if (rc || !folder)
		return rc ? rc : -ENOENT;
	const int fd = file_of(&part, folder, O_RDONLY);
	if (fd < 0 && access(folder, R_OK | X_OK)) /* the program would begin with other values than its other ranks */
		rdb_fatal("%s: %s: the arrays that the job goes on with cannot be read on this host", folder,
			  strerror(errno));
	if (fd < 0)
		return fd;
	rc = part.count ? read_rows(&part, fd) : 0;
	close(fd);
	if (!rc && part.count)
		event_out(ev, (void *)part.address, part.count * part.row);
	return rc;
}
