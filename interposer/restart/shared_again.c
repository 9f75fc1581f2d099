#include "restart/shared_again.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "restart/branch_file.h"
#include "restart/live.h"
#include "restart/mapped_files.h"
#include "restart/open_table.h"
#include "restart/shared_told.h"
#include "restart/tree.h"
#include "space/arena.h"
#include "space/ends.h"
#include "space/shared_kinds.h"
#include "space/shared_memory.h"
#include "base/descriptors.h"
#include "base/io.h"
#include "base/pids.h"
#include "base/private_file.h"
#include "log/log_reader.h"
#include "replay/replay.h"
#include "task/thread.h"

enum { BATCH = 64 << 10, LOOKED_AT_EVERY_EVENT = 16 << 20, MADE = 64 };

static struct {
	struct told_head head;
	char *shadow[TOLD_REGIONS]; /* what it was given, and what it has stored as far as that is told */
	char *view[TOLD_REGIONS];   /* at `from` */
	uint8_t *stores;
	uint64_t room;
	uint64_t from, last, cut_ns; /* from where on it is followed; its last event before the cut */
	uint64_t begun_ns;           /* when a branch began, and all had the same */
	bool begun, viewed, ask;
	enum told_kind kind; /* of what it stores now */
	int made[MADE];
	unsigned nmade;
} own;

static int memory(void)
{
	int fd = descriptor_open(AT_FDCWD, "/proc/self/mem", O_RDONLY, 0); /* proc(5): whatever its protection is */
	if (fd < 0)
		live_refuse("its memory cannot be read: %s", strerror(-fd));
	return fd;
}

static uint64_t length(const struct told_region *r)
{
	return r->end - r->start;
}

/* ---- the plan ---- */

static void plan_line(const char *line)
{
	struct told_region r = {0};
	unsigned long v[6];
	unsigned ask;
	if (sscanf(line, "from %lu %lu %u %lu %lu", v, v + 1, &ask, v + 2, v + 3) == 5) {
		own.from = v[0];
		own.last = v[1];
		own.cut_ns = v[2];
		own.begun_ns = v[3];
		own.ask = ask;
		return;
	}
	if (sscanf(line, "region %lu %lu %lu %lu %lu %u %u %lu %u", v, v + 1, v + 2, v + 3, v + 4, &r.kind, &r.removed,
		   v + 5, &r.again) != 9)
		live_refuse("its plan is damaged");
	r.start = v[0];
	r.end = v[1];
	r.dev = v[2];
	r.ino = v[3];
	r.offset = v[4];
	r.known = v[5];
	if (own.head.n == TOLD_REGIONS)
		live_refuse("it has more than %d shared mappings", TOLD_REGIONS);
	own.head.regions[own.head.n++] = r;
}

void shared_again_begin(void)
{
	char path[4096], line[512];
	snprintf(path, sizeof(path), "%s/%s-shared", lower.opt.tree, lower.opt.process);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		plan_line(line);
	if (f)
		fclose(f);
}

/* ---- on the way ---- */

static void look(char *const to[])
{
	int fd = memory();
	for (unsigned i = 0; i < own.head.n; i++) {
		const struct told_region *r = &own.head.regions[i];
		for (uint64_t off = 0; off < length(r); off += BATCH) {
			const uint64_t n = length(r) - off < BATCH ? length(r) - off : BATCH;
			if (pread(fd, to[i] + off, n, (off_t)(r->start + off)) != (ssize_t)n)
				live_refuse("its shared memory at %#lx cannot be read", (unsigned long)r->start);
		}
	}
	close(fd);
}

/* Memory above some size is not logged at each event, but at calls that may wait for others. */
static bool fresh(void)
{
	uint64_t all = 0;
	for (unsigned i = 0; i < own.head.n; i++)
		all += length(&own.head.regions[i]);
	const struct log_record *rec = replay_record();
	if (all <= LOOKED_AT_EVERY_EVENT || !rec)
		return true;
	const struct event ev = {.kind = rec->kind, .nr = rec->nr};
	return shared_call_synchronises(&ev, true);
}

static void track(void)
{
	for (unsigned i = 0; i < own.head.n; i++) {
		own.shadow[i] = malloc(length(&own.head.regions[i]));
		own.view[i] = malloc(length(&own.head.regions[i]));
		if (!own.shadow[i] || !own.view[i])
			live_refuse("no memory for a copy of its shared memory");
	}
	look(own.shadow);
	own.kind = TOLD_SEEN;
	own.begun = true;
}

static void view(void)
{
	look(own.view);
	own.head.fresh = fresh();
	own.head.at_ns = !lower.event && own.begun_ns ? own.begun_ns : replay_now_ns();
	own.head.late = own.head.at_ns > own.cut_ns;
	own.kind = own.head.late ? TOLD_LATER : TOLD_OPEN;
	own.viewed = true;
}

/* By then it had made its stores; later than all if that is not known. */
static uint64_t asked_ns(void)
{
	const struct log_record *rec = replay_next_record();
	uint64_t when = UINT64_MAX;
	for (const struct log_chunk *c = NULL; rec && (c = log_chunk_next(rec, c));)
		if (!c->addr && c->note == RDB_NOTE_ASKED)
			memcpy(&when, c + 1, sizeof(when));
	return when;
}

static void add_store(unsigned region, uint64_t at, const char *bytes, uint64_t len, uint64_t at_ns)
{
	const struct told_store s = {.region = region, .kind = own.kind, .at = at, .len = len, .at_ns = at_ns};
	const uint64_t need = own.head.stores_len + told_store_size(&s);
	if (need > own.room) {
		own.room = 2 * need;
		own.stores = realloc(own.stores, own.room);
		if (!own.stores)
			live_refuse("no memory for what it has stored in shared memory");
	}
	memset(own.stores + own.head.stores_len, 0, told_store_size(&s));
	memcpy(own.stores + own.head.stores_len, &s, sizeof(s));
	memcpy(own.stores + own.head.stores_len + sizeof(s), bytes, len);
	own.head.stores_len = need;
}

static void add_differences(unsigned region, uint64_t at, const char *now, char *shadow, uint64_t n)
{
	const struct log_record *next = replay_next_record();
	const uint64_t at_ns = own.kind != TOLD_SEEN ? asked_ns() : next ? next->at_ns : own.cut_ns;
	for (uint64_t i = 0, first; i < n; i++) {
		if (now[i] == shadow[i])
			continue;
		for (first = i; i < n && now[i] != shadow[i]; i++)
			;
		add_store(region, at + first, now + first, i - first, at_ns);
	}
	memcpy(shadow, now, n);
}

/* What it has stored since. */
static void collect(void)
{
	static char now[BATCH];
	int fd = memory();
	for (unsigned i = 0; i < own.head.n; i++) {
		const struct told_region *r = &own.head.regions[i];
		for (uint64_t off = 0; off < length(r); off += BATCH) {
			const uint64_t n = length(r) - off < BATCH ? length(r) - off : BATCH;
			if (pread(fd, now, n, (off_t)(r->start + off)) != (ssize_t)n)
				live_refuse("its shared memory at %#lx cannot be read", (unsigned long)r->start);
			if (memcmp(now, own.shadow[i] + off, n))
				add_differences(i, off, now, own.shadow[i] + off, n);
		}
	}
	close(fd);
}

void shared_again_asked(void)
{
	if (own.ask && live_due())
		live_refuse("it goes on without a system call: choose another event");
	if (!own.begun)
		return;
	collect();
	if (own.viewed)
		own.kind = TOLD_LATER;
}

bool shared_again_answered(void)
{
	if (own.head.n && !own.begun && lower.event >= own.from)
		track();
	if (own.head.n && !own.viewed && lower.event >= own.last)
		view();
	return own.ask && live_due();
}

/* Bytes that were there already it may have got by its own call: they are its own. */
void shared_again_applied(uint64_t addr, const void *was, const void *bytes, size_t len)
{
	for (unsigned i = 0; own.begun && i < own.head.n; i++) {
		const struct told_region *r = &own.head.regions[i];
		for (size_t k = 0; k < len; k++) {
			const char *now = (const char *)bytes + k;
			if (addr + k < r->start || addr + k >= r->end || ((const char *)was)[k] == *now)
				continue;
			own.shadow[i][addr + k - r->start] = *now;
			if (!own.viewed)
				add_store(i, addr + k - r->start, now, 1, replay_now_ns());
		}
	}
}

bool shared_again_cut(uint32_t nr, const uint64_t args[6])
{
	if (!own.ask || !live_due())
		return false;
	replay_look_ahead();
	const struct log_record *rec = replay_next_record();
	if (rec && LOG_IS_EVENT(rec->kind) && rec->thread == thread_self()->upper.number &&
	    (rec->kind != LOG_SYSCALL || rec->nr != nr || memcmp(log_args(rec), args, 6 * sizeof(*args))))
		live_refuse("its replay is not what was recorded: choose another event");
	own.ask = false;
	collect();
	return true;
}

/* ---- at the cut ---- */

void shared_again_tell(void)
{
	char path[4096];
	if (!own.head.n && mapped_files_any())
		live_refuse("a file is mapped shared");
	if (!own.head.n)
		return;
	for (unsigned i = 0; i < own.head.n; i++)
		own.head.regions[i].file = mapped_file_at(own.head.regions[i].start) != NULL;
	snprintf(path, sizeof(path), "%s/shared-%d", lower.opt.tree, atoi(lower.opt.process));
	uint64_t at = sizeof(own.head);
	for (unsigned i = 0; i < own.head.n; i++)
		at += length(&own.head.regions[i]);
	own.head.stores = at;
	int fd = private_create(AT_FDCWD, path, O_WRONLY | O_EXCL);
	int rc = fd < 0 ? fd : io_write_all(fd, &own.head, sizeof(own.head), 0, 1 << 20);
	at = sizeof(own.head);
	for (unsigned i = 0; i < own.head.n && !rc; i++) {
		rc = io_write_all(fd, own.view[i], length(&own.head.regions[i]), at, 1 << 20);
		at += length(&own.head.regions[i]);
	}
	if (!rc)
		rc = io_write_all(fd, own.stores, own.head.stores_len, own.head.stores, 1 << 20);
	if (rc)
		live_refuse("%s: %s", path, strerror(-rc));
	close(fd);
	for (unsigned i = 0; i < own.head.n; i++) {
		free(own.shadow[i]);
		free(own.view[i]);
	}
	free(own.stores);
}

static void object_path(char *path, size_t room, const struct told_region *r)
{
	snprintf(path, room, "%s/object-%lx-%lx", lower.opt.tree, (unsigned long)r->dev, (unsigned long)r->ino);
}

static void object_told(const struct told_region *r, const char *what, int64_t number)
{
	char path[4096], text[64];
	object_path(path, sizeof(path), r);
	int n = snprintf(text, sizeof(text), "%s %d %ld\n", what, (int)lower.pid, (long)number);
	int fd = private_create(AT_FDCWD, path, O_WRONLY | O_EXCL);
	if (fd < 0 || write(fd, text, (size_t)n) != n)
		live_refuse("%s: %s", path, strerror(fd < 0 ? -fd : errno));
	close(fd);
}

static void make_segment(const struct told_region *r, const uint8_t *bytes, uint64_t len)
{
	char path[4096], text[64];
	int id = shmget(IPC_PRIVATE, len, 0600);
	void *at = id < 0 ? MAP_FAILED : shmat(id, NULL, 0);
	if (at == MAP_FAILED)
		live_refuse("its System V shared memory cannot be made again: %s", strerror(errno));
	memcpy(at, bytes, len);
	own.made[own.nmade++] = r->removed ? -2 - id : -1;
	object_told(r, "segment", id);
	shmdt(at);
	/* for what the program asks for later */
	snprintf(path, sizeof(path), "%s/segments", lower.opt.tree);
	int n = snprintf(text, sizeof(text), "%lu %d\n", (unsigned long)r->known, id);
	int fd = private_create(AT_FDCWD, path, O_WRONLY | O_APPEND);
	if (fd < 0 || write(fd, text, (size_t)n) != n)
		live_refuse("%s: %s", path, strerror(fd < 0 ? -fd : errno));
	close(fd);
}

static void make_memory(const struct told_region *r, const uint8_t *bytes, uint64_t len)
{
	static const uint8_t zeros[BATCH];
	int fd = memfd_create("rdb-shared", MFD_CLOEXEC);
	fd = fd < 0 ? -errno : lower_fd(fd);
	if (fd < 0 || ftruncate(fd, (off_t)len))
		live_refuse("its shared memory cannot be made again: %s", strerror(fd < 0 ? -fd : errno));
	for (uint64_t off = 0; off < len; off += BATCH) {
		const uint64_t n = len - off < BATCH ? len - off : BATCH;
		if (memcmp(bytes + off, zeros, n) && pwrite(fd, bytes + off, n, (off_t)off) != (ssize_t)n)
			live_refuse("its shared memory cannot be filled: %s", strerror(errno));
	}
	own.made[own.nmade++] = fd;
	object_told(r, "memory", fd);
}

static const struct mapped_file *file_of(const struct told_region *r)
{
	for (const struct told_region *o = own.head.regions; o < own.head.regions + own.head.n; o++)
		if (o->dev == r->dev && o->ino == r->ino && o->file)
			return mapped_file_at(o->start);
	return NULL;
}

/* What is mapped of the file by any of them; the rest is in the copy. */
static void fill_file(const struct told_region *r, const struct mapped_file *m, const uint8_t *bytes)
{
	struct stat st;
	uint64_t known = 0;
	if (fstat(m->copy, &st))
		live_refuse("%s: its copy cannot be read: %s", m->path, strerror(errno));
	const uint64_t size = (uint64_t)st.st_size;
	for (unsigned n = 0; n < pids()->n; n++) {
		const struct told_head *h = shared_told(n);
		for (unsigned i = 0; h && i < h->n; i++) {
			const struct told_region *o = &h->regions[i];
			if (o->dev != r->dev || o->ino != r->ino || o->offset >= size)
				continue;
			const uint64_t len = size - o->offset < length(o) ? size - o->offset : length(o);
			if (io_write_all(m->copy, bytes + o->offset, len, o->offset, 1 << 20))
				live_refuse("%s: its copy cannot be written", m->path);
			known = o->offset <= known && o->offset + len > known ? o->offset + len : known;
		}
	}
	if (*m->why && known < size)
		live_refuse("%s: %s", m->path, m->why);
	const int fd = lower_fd(fcntl(m->copy, F_DUPFD_CLOEXEC, 0));
	if (fd < 0)
		live_refuse("%s: its copy cannot be kept", m->path);
	own.made[own.nmade++] = fd;
	object_told(r, "file", fd);
	mapped_file_name(m);
}

static void make_object(const struct told_region *r)
{
	uint8_t *bytes;
	const struct mapped_file *m = file_of(r);
	if (own.nmade == MADE)
		live_refuse("it shares more than %d pieces of memory", MADE);
	if (r->kind != SHARED_SYSV && (r->kind == SHARED_FILE || r->again) && (!m || (r->again && !*m->path)))
		live_refuse("a file is mapped shared at %#lx that none of its processes has opened for itself",
			    (unsigned long)r->start);
	const uint64_t len = shared_merged(r->dev, r->ino, &bytes);
	if (r->kind == SHARED_SYSV)
		make_segment(r, bytes, len);
	else if (m)
		fill_file(r, m, bytes);
	else
		make_memory(r, bytes, len);
	free(bytes);
}

void shared_again_make(void)
{
	const unsigned self = (unsigned)atoi(lower.opt.process);
	for (unsigned i = 0; i < own.head.n; i++) {
		const struct told_region *r = &own.head.regions[i];
		char path[4096];
		object_path(path, sizeof(path), r);
		if (shared_maker(r->dev, r->ino) == self && access(path, F_OK))
			make_object(r);
	}
}

/* ---- there again ---- */

struct placing {
	const struct told_region *r;
	int fd; /* -1: it is attached, and protections are missing */
};

static int place(const struct mapping *m, void *arg)
{
	const struct placing *p = arg;
	const uint64_t start = m->start > p->r->start ? m->start : p->r->start;
	const uint64_t end = m->end < p->r->end ? m->end : p->r->end;
	if (start >= end)
		return 0;
	int prot = m->prot;
	ends_at(start, &prot); /* the replay has closed what is behind the end of the file */
	const long rc = raw_syscall(SYS_mmap, (long)start, (long)(end - start), prot, MAP_SHARED | MAP_FIXED, p->fd,
				    (long)(p->r->offset + start - p->r->start));
	return rc < 0 ? (int)rc : 0;
}

static void attach(const struct told_region *r, int id)
{
	if (raw_syscall(SYS_shmat, id, (long)r->start, SHM_REMAP, 0, 0, 0) < 0)
		live_refuse("its System V shared memory cannot be attached again");
}

static int which(const struct mapping *m, void *arg)
{
	struct told_region *r = arg;
	if (r->start < m->start || r->start >= m->end)
		return 0;
	r->dev = m->dev;
	r->ino = m->inode;
	return 1;
}

/* What the branch begins with: its log does not say which memory that is. */
static void save(void)
{
	if (!own.head.n)
		return;
	FILE *f = branch_file_begin("shared-began");
	for (unsigned i = 0; i < own.head.n; i++) {
		struct told_region r = own.head.regions[i];
		if (arena_each(which, &r) != 1)
			live_refuse("its shared memory at %#lx is not there", (unsigned long)r.start);
		fprintf(f, "region %lu %lu %lu %lu %lu %u %u %lu\n", (unsigned long)r.start, (unsigned long)r.end,
			(unsigned long)r.dev, (unsigned long)r.ino, (unsigned long)r.offset, r.kind, r.removed,
			(unsigned long)r.known);
	}
	branch_file_end(f, "shared-began");
}

void shared_again_map(void)
{
	for (unsigned i = 0; i < own.head.n; i++) {
		const struct told_region *r = &own.head.regions[i];
		char path[4096], text[64] = "", what[16], link[64];
		int pid, number;
		object_path(path, sizeof(path), r);
		int fd = descriptor_open(AT_FDCWD, path, O_RDONLY, 0);
		if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 ||
		    sscanf(text, "%15s %d %d", what, &pid, &number) != 3)
			live_refuse("%s: it is not there", path);
		close(fd);
		if (!strcmp(what, "segment")) {
			attach(r, number);
			continue;
		}
		snprintf(link, sizeof(link), "/proc/%d/fd/%d", pid, number);
		struct placing p = {.r = r, .fd = descriptor_open(AT_FDCWD, link, O_RDWR, 0)};
		if (p.fd < 0)
			live_refuse("its shared memory is not there: %s", strerror(-p.fd));
		const int rc = arena_each(place, &p);
		if (rc < 0)
			live_refuse("its shared memory cannot be mapped again: %s", strerror(-rc));
		ends_of_file(r->start, r->end);
		close(p.fd);
	}
	save();
}

void shared_again_mapped(void)
{
	for (unsigned i = 0; i < own.nmade; i++)
		if (own.made[i] >= 0)
			lower_fd_close(own.made[i]);
		else if (own.made[i] < -1)
			shmctl(-2 - own.made[i], IPC_RMID, NULL);
	own.nmade = 0;
	mapped_files_close();
}

int shared_again_kind(uint64_t start)
{
	for (unsigned i = 0; i < own.head.n; i++)
		if (start >= own.head.regions[i].start && start < own.head.regions[i].end)
			return (int)own.head.regions[i].kind == SHARED_SYSV ? SHARED_SYSV : SHARED_NAMED;
	return SHARED_NAMED;
}

uint64_t shared_segment_now(uint64_t known)
{
	char path[4096];
	unsigned long was;
	int now;
	const char *pids_file = pids_path(), *slash = pids_file ? strrchr(pids_file, '/') : NULL;
	if (!slash)
		return known;
	snprintf(path, sizeof(path), "%.*s/segments", (int)(slash - pids_file), pids_file);
	FILE *f = fopen(path, "re");
	while (f && fscanf(f, "%lu %d", &was, &now) == 2)
		if (was == known) {
			known = (uint64_t)now;
			break;
		}
	if (f)
		fclose(f);
	return known;
}
