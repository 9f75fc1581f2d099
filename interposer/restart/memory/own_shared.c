#include "restart/memory/own_shared.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "crossing/boundary.h"
#include "space/arena.h"
#include "base/descriptors.h"
#include "base/proc_stat.h"

enum { MAPPINGS = 256 };
static const uint64_t MOST = 1ul << 30; /* bytes: the rank stands still while they are copied */

/* As restarts read it: a mapping, and the rows of pages in it that are not zero. */
struct saved_mapping {
	uint64_t start, end, offset;
	uint32_t object, prot; /* mappings of one object have the same number */
	uint64_t rows;
};

struct saved_row {
	uint64_t at, len;
};

static struct {
	struct mapping list[MAPPINGS];
	unsigned n;
	uint64_t refused; /* start of the first mapping that found no room */
	char why[320];
} look;

/* proc(5), /proc/pid/maps: the name of a line, or "" */
static const char *parse(char *line, uint64_t *start, struct mapping *m)
{
	unsigned long from, to, inode;
	unsigned major, minor;
	int name = 0;
	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%lx-%lx %*s %*x %x:%x %lu %n", &from, &to, &major, &minor, &inode, &name) < 5)
		return "";
	*start = from;
	*m = (struct mapping){.start = from, .end = to, .inode = inode, .dev = (uint64_t)major << 20 | minor};
	return line + name;
}

static FILE *maps_of(const char *pid)
{
	char path[300];
	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	const int fd = descriptor_open(AT_FDCWD, path, O_RDONLY, 0);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f && fd >= 0)
		close(fd);
	return f;
}

/* The kernel's name of the mapping that contains the address. */
static void name_at(uint64_t at, char *out, size_t room)
{
	char line[4300];
	struct mapping m = {0};
	uint64_t start;
	FILE *f = maps_of("self");
	out[0] = 0;
	while (f && fgets(line, sizeof(line), f)) {
		const char *name = parse(line, &start, &m);
		if (at >= m.start && at < m.end)
			snprintf(out, room, "%s", name);
	}
	if (f)
		fclose(f);
}

static bool ends_with(const char *text, const char *end)
{
	const size_t n = strlen(text), k = strlen(end);
	return n >= k && !strcmp(text + n - k, end);
}

/* Is there no name by which others could reach it?  Segments of System V have none either, but a number by which others
 * may attach them. */
static bool nameless(const char *name)
{
	return ends_with(name, " (deleted)") && strncmp(name, "/SYSV", 5) != 0 &&
	       strncmp(name, "/anon_hugepage", 14) != 0;
}

static const char *cannot(uint64_t at, const char *name)
{
	if (!name[0])
		snprintf(look.why, sizeof(look.why), "it has shared memory at %#lx", (unsigned long)at);
	else
		snprintf(look.why, sizeof(look.why), "it has shared memory: %.240s",
			 strncmp(name, "/dev/zero", 9) ? name : "anonymous");
	return look.why;
}

static bool same_object(const struct mapping *a, const struct mapping *b)
{
	return a->inode == b->inode && a->dev == b->dev;
}

bool own_shared_has(const struct stat *st)
{
	const struct mapping file = {.inode = st->st_ino, .dev = (uint64_t)major(st->st_dev) << 20 | minor(st->st_dev)};
	for (unsigned i = 0; i < look.n; i++)
		if (same_object(&look.list[i], &file))
			return true;
	return false;
}

static int collect(const struct mapping *m, void *arg __attribute__((unused)))
{
	if (!m->shared || host_coordinated_shares(m->start, m->end))
		return 0;
	if (look.n == MAPPINGS) {
		look.refused = m->start;
		return 1;
	}
	look.list[look.n++] = *m;
	return 0;
}

/* Is it this process, or a child of it?  Children that write older images have all of it mapped as well, but do not
 * look at it. */
static bool ours(const char *pid)
{
	char text[512];
	int parent = 0;
	const char *fields = proc_stat(pid, text, sizeof(text));
	return atoi(pid) == lower.pid || (fields && sscanf(fields, " %*c %d", &parent) == 1 && parent == lower.pid);
}

/* A mapping of ours that process PID has, too; NULL: none. */
static const struct mapping *mapped_by(const char *pid)
{
	char line[4300];
	const struct mapping *found = NULL;
	struct mapping m = {0};
	uint64_t start;
	FILE *f = maps_of(pid);
	while (f && !found && fgets(line, sizeof(line), f)) {
		parse(line, &start, &m);
		for (unsigned i = 0; i < look.n && m.inode; i++)
			if (same_object(&look.list[i], &m))
				found = &look.list[i];
	}
	if (f)
		fclose(f);
	return found;
}

static const char *others(void)
{
	char name[200];
	DIR *all = opendir("/proc");
	const struct dirent *e;
	const struct mapping *found = NULL;
	if (!all)
		return "/proc cannot be read, so rdb cannot tell what other processes have mapped";
	while (!found && (e = readdir(all)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && !ours(e->d_name) && (found = mapped_by(e->d_name))) {
			name_at(found->start, name, sizeof(name));
			snprintf(look.why, sizeof(look.why), "process %.20s also has its shared memory mapped: %s",
				 e->d_name, strncmp(name, "/dev/zero", 9) ? name : "anonymous");
		}
	closedir(all);
	return found ? look.why : NULL;
}

const char *own_shared_refuses(void)
{
	char name[4300];
	uint64_t bytes = 0;
	look.n = 0;
	look.refused = 0;
	if (arena_each(collect, NULL) < 0)
		return "its memory map cannot be read";
	if (look.refused)
		return "it has too many shared mappings";
	for (unsigned i = 0; i < look.n; i++) {
		const struct mapping *m = &look.list[i];
		name_at(m->start, name, sizeof(name));
		bytes += m->end - m->start;
		if (!nameless(name) || bytes > MOST)
			return cannot(m->start, name);
	}
	return look.n ? others() : NULL;
}

/* ---- keeping ---- */

/* Reads a page, whatever its protection is.  False: it is zero, or beyond the end of a file. */
static bool page_at(int memory, uint64_t at, uint64_t *page)
{
	if (pread(memory, page, RDB_PAGE, (off_t)at) != RDB_PAGE)
		return false;
	for (unsigned i = 0; i < RDB_PAGE / 8; i++)
		if (page[i])
			return true;
	return false;
}

static int keep(const struct mapping *m, uint32_t object, int memory, struct table *out)
{
	static uint64_t page[RDB_PAGE / 8];
	const size_t head = out->len;
	size_t row = 0;
	struct saved_mapping one = {m->start, m->end, m->offset, object, (uint32_t)m->prot, 0};
	int rc = table_add(out, &one, sizeof(one));
	for (uint64_t at = m->start; at < m->end && !rc; at += RDB_PAGE) {
		if (!page_at(memory, at, page)) {
			row = 0;
			continue;
		}
		if (!row) {
			const struct saved_row begun = {.at = at};
			row = out->len;
			rc = table_add(out, &begun, sizeof(begun));
			one.rows++;
		}
		if (!rc)
			rc = table_add(out, page, sizeof(page));
		if (!rc)
			((struct saved_row *)(out->base + row))->len += RDB_PAGE;
	}
	if (!rc)
		memcpy(out->base + head, &one, sizeof(one));
	return rc;
}

int own_shared_look(struct table *out)
{
	const int memory = look.n ? descriptor_open(AT_FDCWD, "/proc/thread-self/mem", O_RDONLY, 0) : -1;
	int rc = look.n && memory < 0 ? memory : 0;
	for (unsigned i = 0, k; i < look.n && !rc; i++) {
		for (k = 0; !same_object(&look.list[k], &look.list[i]);)
			k++;
		rc = keep(&look.list[i], k, memory, out);
	}
	if (memory >= 0)
		close(memory);
	return rc;
}

/* ---- a restart ---- */

struct object {
	int fd;
	uint64_t len;
};

static int map_again(struct object *o, const struct saved_mapping *m)
{
	const uint64_t len = m->offset + (m->end - m->start);
	if (!o->fd) {
		const int fd = memfd_create("shared", MFD_CLOEXEC);
		o->fd = fd < 0 ? fd : lower_fd(fd);
		if (o->fd < 0)
			return fd < 0 ? -errno : o->fd;
	}
	if (len > o->len && ftruncate(o->fd, (off_t)len))
		return -errno;
	if (len > o->len)
		o->len = len;
	return mmap((void *)m->start, m->end - m->start, (int)m->prot, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, o->fd,
		    (off_t)m->offset) == MAP_FAILED
		       ? -errno
		       : 0;
}

static int fill(const struct object *o, const struct saved_mapping *m, const uint8_t **bytes, const uint8_t *end)
{
	struct saved_row row;
	for (uint64_t i = 0; i < m->rows; i++) {
		if ((size_t)(end - *bytes) < sizeof(row))
			return -EBADMSG;
		memcpy(&row, *bytes, sizeof(row));
		*bytes += sizeof(row);
		if (row.len > (size_t)(end - *bytes) || row.at < m->start || row.at + row.len > m->end)
			return -EBADMSG;
		if (pwrite(o->fd, *bytes, row.len, (off_t)(m->offset + (row.at - m->start))) != (ssize_t)row.len)
			return -EIO;
		*bytes += row.len;
	}
	return 0;
}

int own_shared_from(const uint8_t *bytes, size_t len)
{
	static struct object objects[MAPPINGS];
	const uint8_t *end = bytes + len;
	struct saved_mapping m;
	int rc = 0;
	while (bytes < end && !rc) {
		if ((size_t)(end - bytes) < sizeof(m))
			return -EBADMSG;
		memcpy(&m, bytes, sizeof(m));
		bytes += sizeof(m);
		if (m.object >= MAPPINGS || m.start >= m.end || !rdb_is_upper_range(m.start, m.end - m.start))
			return -EBADMSG;
		rc = map_again(&objects[m.object], &m);
		if (!rc)
			rc = fill(&objects[m.object], &m, &bytes, end);
	}
	for (unsigned i = 0; i < MAPPINGS; i++)
		if (objects[i].fd > 0)
			lower_fd_close(objects[i].fd);
	return rc;
}
