#include "restart/memory/shared_again.h"
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
#include "restart/base/branch_file.h"
#include "restart/base/cut.h"
#include "restart/copies/mapped_files.h"
#include "restart/base/open_table.h"
#include "restart/memory/shared_report.h"
#include "space/aliases.h"
#include "space/arena.h"
#include "space/ends.h"
#include "space/shared_kinds.h"
#include "base/descriptors.h"
#include "base/io.h"
#include "base/pids.h"
#include "base/private_file.h"
#include "base/table.h"
#include "log/log_reader.h"
#include "replay/replay.h"
#include "task/thread.h"

enum { BATCH = 64 << 10, LOOKED_AT_EVERY_EVENT = 16 << 20 };

static struct {
	struct reported_head head;
	struct table regions; /* struct reported_region */
	char **shadow;        /* what the process was given, and what it has stored as far as that is told */
	char **view;          /* the memory at the last event before the cut */
	uint8_t *stores;
	uint64_t room;
	uint64_t from, last, cut_ns; /* the event from which it is followed; its last event before the cut */
	uint64_t begun_ns;           /* when a branch began, and all processes had the same */
	bool begun, viewed, ask;
	enum told_kind kind; /* kind of what it stores now */
	struct table made;   /* descriptors; -2 - ID: a segment to be removed */
} own;

static struct reported_region *regions(void)
{
	return (struct reported_region *)own.regions.base;
}

static void made(int what)
{
	const int rc = table_add(&own.made, &what, sizeof(what));
	if (rc)
		live_refuse("its shared memory cannot be listed: %s", strerror(-rc));
}

static int memory(void)
{
	int fd = descriptor_open(AT_FDCWD, "/proc/thread-self/mem", O_RDONLY,
				 0); /* proc(5): whatever its protection is */
	if (fd < 0)
		live_refuse("its memory cannot be read: %s", strerror(-fd));
	return fd;
}

static uint64_t length(const struct reported_region *r)
{
	return r->end - r->start;
}

/* ---- the plan ---- */

static void plan_line(const char *line)
{
	struct reported_region r = {0};
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
		live_refuse("its restart plan is damaged");
	r.start = v[0];
	r.end = v[1];
	r.dev = v[2];
	r.ino = v[3];
	r.offset = v[4];
	r.known = v[5];
	const int rc = table_add(&own.regions, &r, sizeof(r));
	if (rc)
		live_refuse("its restart plan cannot be stored: %s", strerror(-rc));
	own.head.n++;
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
		const struct reported_region *r = &regions()[i];
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
		all += length(&regions()[i]);
	const struct log_record *rec = replay_record();
	if (all <= LOOKED_AT_EVERY_EVENT || !rec)
		return true;
	const struct event ev = {.kind = rec->kind, .nr = rec->nr};
	return shared_call_synchronises(&ev, true);
}

static void track(void)
{
	own.shadow = calloc(own.head.n, sizeof(*own.shadow));
	own.view = calloc(own.head.n, sizeof(*own.view));
	for (unsigned i = 0; i < own.head.n; i++) {
		if (!own.shadow || !own.view)
			live_refuse("out of memory for a copy of its shared memory");
		own.shadow[i] = malloc(length(&regions()[i]));
		own.view[i] = malloc(length(&regions()[i]));
		if (!own.shadow[i] || !own.view[i])
			live_refuse("out of memory for a copy of its shared memory");
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

/* By then the process had made its stores; UINT64_MAX, later than all, if that is not known. */
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
	const struct reported_store s = {.region = region, .kind = own.kind, .at = at, .len = len, .at_ns = at_ns};
	const uint64_t need = own.head.stores_len + reported_store_size(&s);
	if (need > own.room) {
		own.room = 2 * need;
		own.stores = realloc(own.stores, own.room);
		if (!own.stores)
			live_refuse("out of memory for what it has stored in shared memory");
	}
	memset(own.stores + own.head.stores_len, 0, reported_store_size(&s));
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
		if (own.kind == TOLD_SEEN && fresh()) /* was there at its last event, whoever stored it */
			add_store(region, at + first, shadow + first, i - first, replay_now_ns());
		add_store(region, at + first, now + first, i - first, at_ns);
	}
	memcpy(shadow, now, n);
}

/* Finds what the process has stored since. */
static void collect(void)
{
	static char now[BATCH];
	int fd = memory();
	for (unsigned i = 0; i < own.head.n; i++) {
		const struct reported_region *r = &regions()[i];
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
		live_refuse("it does not go on with a system call at that event: choose another event");
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

/* Only bytes that change count: others the process may have got by its own call. */
struct applied {
	const char *was, *bytes;
};

static int applied_at(uint64_t addr, uint64_t len, uint64_t at, void *arg)
{
	const struct applied *a = arg;
	for (unsigned i = 0; i < own.head.n; i++) {
		const struct reported_region *r = &regions()[i];
		for (uint64_t k = 0; k < len; k++) {
			const char *now = a->bytes + at + k;
			if (addr + k < r->start || addr + k >= r->end || a->was[at + k] == *now)
				continue;
			own.shadow[i][addr + k - r->start] = *now;
			if (!own.viewed)
				add_store(i, addr + k - r->start, now, 1, replay_now_ns());
		}
	}
	return 0;
}

void shared_again_applied(uint64_t addr, const void *was, const void *bytes, size_t len)
{
	struct applied a = {was, bytes};
	if (!own.begun)
		return;
	applied_at(addr, len, 0, &a);
	aliases_each(addr, len, applied_at, &a);
}

bool shared_again_cut(uint32_t nr, const uint64_t args[6])
{
	if (!own.ask || !live_due())
		return false;
	replay_look_ahead();
	const struct log_record *rec = replay_next_record();
	if (rec && LOG_IS_EVENT(rec->kind) && rec->thread == thread_self()->upper.number &&
	    (rec->kind != LOG_SYSCALL || rec->nr != nr || memcmp(log_args(rec), args, 6 * sizeof(*args))))
		live_refuse("its replay differs from the recording: choose another event");
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
		regions()[i].file = mapped_file_at(regions()[i].start) != NULL;
	snprintf(path, sizeof(path), "%s/shared-%u", lower.opt.tree, tree_process());
	const uint64_t views = sizeof(own.head) + own.regions.len;
	uint64_t at = views;
	for (unsigned i = 0; i < own.head.n; i++)
		at += length(&regions()[i]);
	own.head.stores = at;
	int fd = private_create(AT_FDCWD, path, O_WRONLY | O_EXCL);
	int rc = fd < 0 ? fd : io_write_all(fd, &own.head, sizeof(own.head), 0, 1 << 20);
	if (!rc)
		rc = io_write_all(fd, own.regions.base, own.regions.len, sizeof(own.head), 1 << 20);
	at = views;
	for (unsigned i = 0; i < own.head.n && !rc; i++) {
		rc = io_write_all(fd, own.view[i], length(&regions()[i]), at, 1 << 20);
		at += length(&regions()[i]);
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

static void object_path(char *path, size_t room, const struct reported_region *r)
{
	snprintf(path, room, "%s/object-%lx-%lx", lower.opt.tree, (unsigned long)r->dev, (unsigned long)r->ino);
}

static void object_told(const struct reported_region *r, const char *what, int64_t number)
{
	char path[4096], text[64];
	object_path(path, sizeof(path), r);
	int n = snprintf(text, sizeof(text), "%s %d %ld\n", what, (int)lower.pid, (long)number);
	new_file(path, text, (size_t)n);
}

static void make_segment(const struct reported_region *r, const uint8_t *bytes, uint64_t len)
{
	char path[4096], text[64];
	int id = shmget(IPC_PRIVATE, len, 0600);
	void *at = id < 0 ? MAP_FAILED : shmat(id, NULL, 0);
	if (at == MAP_FAILED)
		live_refuse("its System V shared memory cannot be made again: %s", strerror(errno));
	memcpy(at, bytes, len);
	made(r->removed ? -2 - id : -1);
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

static void make_memory(const struct reported_region *r, const uint8_t *bytes, uint64_t len)
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
	made(fd);
	object_told(r, "memory", fd);
}

static const struct mapped_file *file_of(const struct reported_region *r)
{
	for (const struct reported_region *o = regions(); o < regions() + own.head.n; o++)
		if (o->dev == r->dev && o->ino == r->ino && o->file)
			return mapped_file_at(o->start);
	return NULL;
}

/* Writes to the copy what any process has mapped of the file; the rest is in the copy. */
static void fill_file(const struct reported_region *r, const struct mapped_file *m, const uint8_t *bytes)
{
	struct stat st;
	uint64_t known = 0;
	if (fstat(m->copy, &st))
		live_refuse("%s: its copy cannot be read: %s", m->path, strerror(errno));
	const uint64_t size = (uint64_t)st.st_size;
	for (unsigned n = 0; n < pids()->n; n++) {
		const struct reported_head *h = shared_report(n);
		for (unsigned i = 0; h && i < h->n; i++) {
			const struct reported_region *o = &reported_regions(h)[i];
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
	made(fd);
	object_told(r, "file", fd);
	mapped_file_name(m);
}

static void make_object(const struct reported_region *r)
{
	uint8_t *bytes;
	const struct mapped_file *m = file_of(r);
	if (r->kind != SHARED_SYSV && (r->kind == SHARED_FILE || r->again) && (!m || (r->again && !*m->path)))
		live_refuse("the file that is mapped shared at %#lx was opened by none of its processes",
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
	const unsigned self = tree_process();
	for (unsigned i = 0; i < own.head.n; i++) {
		const struct reported_region *r = &regions()[i];
		char path[4096];
		object_path(path, sizeof(path), r);
		if (shared_maker(r->dev, r->ino) == self && access(path, F_OK))
			make_object(r);
	}
}

/* ---- there again ---- */

struct placing {
	const struct reported_region *r;
	int fd; /* descriptor to map */
};

static int place(const struct mapping *m, void *arg)
{
	const struct placing *p = arg;
	const uint64_t start = m->start > p->r->start ? m->start : p->r->start;
	const uint64_t end = m->end < p->r->end ? m->end : p->r->end;
	if (start >= end)
		return 0;
	int prot = m->prot;
	ends_at(start, &prot); /* the replay has closed what lies behind the end of the file */
	const long rc = raw_syscall(SYS_mmap, (long)start, (long)(end - start), prot, MAP_SHARED | MAP_FIXED, p->fd,
				    (long)(p->r->offset + start - p->r->start));
	return rc < 0 ? (int)rc : 0;
}

static void attach(const struct reported_region *r, int id)
{
	if (raw_syscall(SYS_shmat, id, (long)r->start, SHM_REMAP, 0, 0, 0) < 0)
		live_refuse("its System V shared memory cannot be attached again");
}

static int which(const struct mapping *m, void *arg)
{
	struct reported_region *r = arg;
	if (r->start < m->start || r->start >= m->end)
		return 0;
	r->dev = m->dev;
	r->ino = m->inode;
	return 1;
}

/* Writes down what the branch begins with: its log does not say which memory that is. */
static void save(void)
{
	if (!own.head.n)
		return;
	FILE *f = branch_file_begin("shared-began");
	for (unsigned i = 0; i < own.head.n; i++) {
		struct reported_region r = regions()[i];
		if (arena_each_in(r.start, r.start + 1, which, &r) != 1)
			live_refuse("its shared memory at %#lx is not mapped", (unsigned long)r.start);
		fprintf(f, "region %lu %lu %lu %lu %lu %u %u %lu\n", (unsigned long)r.start, (unsigned long)r.end,
			(unsigned long)r.dev, (unsigned long)r.ino, (unsigned long)r.offset, r.kind, r.removed,
			(unsigned long)r.known);
	}
	branch_file_end(f, "shared-began");
}

void shared_again_map(void)
{
	for (unsigned i = 0; i < own.head.n; i++) {
		const struct reported_region *r = &regions()[i];
		char path[4096], text[64] = "", what[16], link[64];
		int pid, number;
		object_path(path, sizeof(path), r);
		int fd = descriptor_open(AT_FDCWD, path, O_RDONLY, 0);
		if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 ||
		    sscanf(text, "%15s %d %d", what, &pid, &number) != 3)
			live_refuse("%s: it is missing or damaged", path);
		close(fd);
		if (!strcmp(what, "segment")) {
			attach(r, number);
			continue;
		}
		snprintf(link, sizeof(link), "/proc/%d/fd/%d", pid, number);
		struct placing p = {.r = r, .fd = descriptor_open(AT_FDCWD, link, O_RDWR, 0)};
		if (p.fd < 0)
			live_refuse("its shared memory cannot be opened: %s", strerror(-p.fd));
		const int rc = arena_each_in(p.r->start, p.r->end, place, &p);
		if (rc < 0)
			live_refuse("its shared memory cannot be mapped again: %s", strerror(-rc));
		ends_of_file(r->start, r->end);
		close(p.fd);
	}
	save();
}

void shared_again_mapped(void)
{
	for (const int *m = (int *)own.made.base; m < (int *)(own.made.base + own.made.len); m++)
		if (*m >= 0)
			lower_fd_close(*m);
		else if (*m < -1)
			shmctl(-2 - *m, IPC_RMID, NULL);
	own.made.len = 0;
	mapped_files_close();
}

int shared_again_kind(uint64_t start)
{
	for (unsigned i = 0; i < own.head.n; i++)
		if (start >= regions()[i].start && start < regions()[i].end)
			return (int)regions()[i].kind == SHARED_SYSV ? SHARED_SYSV : SHARED_NAMED;
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
