#include "space/followed.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "space/arena.h"
#include "space/cautions.h"
#include "space/floors.h"
#include "space/rank_files.h"
#include "space/shared_kinds.h"
#include "space/shared_memory.h"
#include "space/shared_shadows.h"
#include "space/shared_turns.h"
#include "space/sole_owner.h"
#include "base/descriptors.h"
#include "base/guarded_copy.h"
#include "base/pids.h"

bool followed_never(int fd)
{
	/* not read(2), which an inotify(7) watch of the program would tell */
	void *start = mmap(NULL, RDB_PAGE, PROT_READ, MAP_SHARED, fd, 0);
	char magic[4];
	if (start == MAP_FAILED)
		return false;
	const bool elf = guarded_copy(magic, start, sizeof(magic)) == sizeof(magic) && !memcmp(magic, "\177ELF", 4);
	munmap(start, RDB_PAGE);
	return elf;
}

/* Files that MPI has opened for writing (the first MPI_FILES). */
enum { MPI_FILES = 64 };
static struct {
	dev_t dev;
	ino_t ino;
} mpi_files[MPI_FILES];
static unsigned nmpi_files;

bool followed_mpi_writes(const struct stat *st)
{
	for (unsigned i = 0; i < nmpi_files; i++)
		if (mpi_files[i].ino == st->st_ino && mpi_files[i].dev == st->st_dev)
			return true;
	return nmpi_files == MPI_FILES; /* the table is full: it may be one of the others */
}

/* The file that is about to be mapped, and how often others had opened it for writing when they were looked for. */
static struct {
	uint64_t dev, ino;
	uint32_t openings;
} mapping;

static bool is_mapping(uint64_t dev, uint64_t ino)
{
	return ino == mapping.ino && dev == ((uint64_t)major(mapping.dev) << 20 | minor(mapping.dev));
}

/* Can another process of the rank write to it just now? */
static bool others_write(int fd, const struct stat *st, int prot)
{
	const bool program = prot & PROT_EXEC || followed_never(fd);
	mapping.dev = st->st_dev;
	mapping.ino = st->st_ino;
	mapping.openings = UINT32_MAX;
	if (program)
		return false;
	rank_file_mapped(st->st_dev, st->st_ino);
	mapping.openings = rank_file_openings(st->st_dev, st->st_ino);
	return mapping.openings && other_writer(is_mapping);
}

static bool changes(int fd, const struct stat *st, bool shared, int prot)
{
	if (shared_is_followed(st) || others_write(fd, st, prot))
		return true;
	/* the MPI library uses descriptors of its own */
	const bool mpi_writes = followed_mpi_writes(st);
	const bool writable = mpi_writes || (raw_syscall(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0) & O_ACCMODE) == O_RDWR;
	if (shared)
		return shared_volatile(fd) || mpi_writes;
	/* libraries are opened read-only; of a file that the program can write, only executable mappings do not
	 * change */
	return (writable && !(prot & PROT_EXEC)) || ((writable || !st->st_nlink) && !followed_never(fd));
}

bool followed_from_start(int fd, bool shared, int prot)
{
	struct stat st;
	if (!recording() || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return shared && shared_volatile(fd);
	const bool from_start = changes(fd, &st, shared, prot);
	if (from_start)
		rank_file_followed(st.st_dev, st.st_ino);
	return from_start;
}

uint32_t followed_openings(uint64_t dev, uint64_t ino)
{
	return dev == mapping.dev && ino == mapping.ino ? mapping.openings : UINT32_MAX;
}

static bool name_of(uint64_t start, uint64_t end, char *path, size_t size)
{
	char link[64];
	snprintf(link, sizeof(link), "/proc/self/map_files/%lx-%lx", (unsigned long)start, (unsigned long)end);
	const ssize_t n = readlink(link, path, size - 1);
	path[n < 0 ? 0 : n] = 0;
	return n >= 0;
}

/* The name of the file that is mapped at `at`, in a part of f.  Mostly f is one mapping of the kernel's, whose list need
 * not be read then. */
static bool name_at(const struct file_mapping *f, uint64_t at, char *path, size_t size)
{
	struct mapping m;
	return (at == f->start && name_of(f->start, f->end, path, size)) ||
	       (arena_mapping_at(at, &m) && name_of(m.start, m.end, path, size));
}

/* Opens the file again, if it still has the name by which it was opened. */
static int open_again(const struct file_mapping *f, uint64_t at)
{
	struct stat st;
	char path[4096];
	const int fd = name_at(f, at, path, sizeof(path)) ? descriptor_open(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0)
							  : -ENOENT;
	if (fd < 0)
		return -ENOENT;
	if (!fstat(fd, &st) && st.st_dev == f->dev && st.st_ino == f->ino && !f->text && !followed_never(fd))
		return fd;
	close(fd);
	return -ENOENT;
}

long followed_move(struct event *ev, const struct file_mapping *f, uint64_t old, size_t old_len, uint64_t at,
		   size_t new_len, int prot, bool keep)
{
	const struct file_mapping was = *f;
	const int fd = open_again(&was, old);
	long rc = fd;
	if (fd < 0)
		return fd;
	if (was.read_only) {
		rc = shared_map(ev, at, new_len, prot, MAP_SHARED, fd, was.offset + (old - was.start));
		if (!rc && old_len) {
			arena_unmapped(old, old + old_len);
			shared_unmapped(old, old + old_len);
			munmap((void *)old, old_len);
		}
	} else if (!old_len) {
		rc = -EINVAL;
	} else {
		shared_follow(ev, &was, fd);
		rc = shared_move(ev, old, old_len, at, new_len, keep);
	}
	close(fd);
	return rc;
}

struct writing {
	struct event *ev;
	int fd; /* opened for reading, so it can be mapped */
};

static void follow(const struct file_mapping *f, void *arg)
{
	const struct writing *w = arg;
	if (!f->text && !shared_within(f->start, f->end))
		shared_follow(w->ev, f, w->fd);
}

static void see(const struct file_mapping *f, void *arg)
{
	*(bool *)arg |= !f->text && !shared_within(f->start, f->end);
}

static void written(struct event *ev, const struct stat *st, int fd)
{
	struct writing w = {.ev = ev};
	char link[32];
	bool any = false;
	arena_files_of(st->st_dev, st->st_ino, see, &any);
	if (!any)
		return;
	/* it may have been opened for writing only */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	w.fd = descriptor_open(AT_FDCWD, link, O_RDONLY | O_CLOEXEC, 0);
	if (w.fd < 0)
		rdb_fatal("a file that the program has mapped and writes to cannot be read: %s", strerror(-w.fd));
	arena_files_of(st->st_dev, st->st_ino, follow, &w);
	close(w.fd);
}

void followed_mapped(struct event *ev, int fd)
{
	struct stat st;
	if (fd >= 0 && !fstat(fd, &st))
		written(ev, &st, fd);
}

/* It may change without a word of this process's own events. */
static bool only_shown(const struct file_mapping *f)
{
	return f->ino && f->openings != UINT32_MAX && !shared_within(f->start, f->end);
}

static bool still_shown(uint64_t key)
{
	for (const struct file_mapping *f = NULL; (f = arena_file_next(f, 0, UINT64_MAX));)
		if (only_shown(f) && floor_key(f->dev, f->ino) == key)
			return true;
	return false;
}

void followed_by_others(struct event *ev)
{
	static uint32_t seen;
	const uint32_t now = rank_files_openings();
	if (now == seen || !event_takes_chunks(ev))
		return;
	seen = now;
	for (struct file_mapping *f = NULL; (f = arena_file_next(f, 0, UINT64_MAX));) {
		const uint32_t openings = only_shown(f) ? rank_file_openings(f->dev, f->ino) : 0;
		if (openings <= f->openings)
			continue;
		f->openings = openings;
		const int fd = open_again(f, f->start);
		if (fd < 0) {
			caution("a file that is mapped at %#lx-%#lx is open for writing in another process, and its "
				"name is gone: a replay may differ if that process writes there",
				(unsigned long)f->start, (unsigned long)f->end);
			continue;
		}
		shared_follow(ev, f, fd);
		close(fd);
	}
	rank_files_saw(still_shown);
}

int64_t followed_changed_ns(const struct stat *st)
{
	return st->st_mtim.tv_sec * 1000000000l + st->st_mtim.tv_nsec;
}

void followed_look_for_outsiders(uint64_t start, uint64_t end)
{
	struct stat st;
	char path[4096];
	for (struct file_mapping *f = NULL; recording() && lower.started && (f = arena_file_next(f, start, end));) {
		if (!only_shown(f) || !name_at(f, f->start, path, sizeof(path)) || stat(path, &st) ||
		    st.st_dev != f->dev || st.st_ino != f->ino || followed_changed_ns(&st) == f->changed_ns)
			continue;
		f->changed_ns = followed_changed_ns(&st);
		caution("%s, which is mapped at %#lx-%#lx, was written by processes outside this rank: a replay shows it "
			"as it was before, and may differ",
			path, (unsigned long)f->start, (unsigned long)f->end);
	}
}

void followed_in_child(void)
{
	rank_files_forked();
	for (const struct file_mapping *f = NULL; recording() && (f = arena_file_next(f, 0, UINT64_MAX));)
		if (only_shown(f))
			rank_file_mapped(f->dev, f->ino);
}

/* proc(5), /proc/pid/mem: the process; 0: another file. */
static pid_t memory_of(int fd)
{
	char link[32], target[64], end[8];
	int pid;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	const ssize_t n = readlink(link, target, sizeof(target) - 1);
	target[n < 0 ? 0 : n] = 0;
	if (sscanf(target, "/proc/%d/task/%*d/%7s", &pid, end) != 2 && sscanf(target, "/proc/%d/%7s", &pid, end) != 2)
		return 0;
	return strcmp(end, "mem") ? 0 : pid;
}

static void other_memory(pid_t pid)
{
	caution("the program writes to the memory of process %d: if that process is recorded, too, its replay will "
		"lack these bytes",
		pid);
}

/* Logs what the program has written to its own memory through /proc/self/mem. */
static void note_stores(struct event *ev, int fd)
{
	const uint64_t len = (uint64_t)ev->result;
	const bool placed = ev->nr == SYS_pwrite64 || ev->nr == SYS_pwritev || ev->nr == SYS_pwritev2;
	/* pwritev(2): on 64 bits the low word is the whole offset; -1 is the file position */
	const uint64_t end = !placed || (ev->nr == SYS_pwritev2 && ev->args[3] == UINT64_MAX)
				     ? (uint64_t)raw_syscall(SYS_lseek, fd, 0, SEEK_CUR, 0, 0, 0)
				     : ev->args[3] + len;
	const uint64_t start = end - len;
	if (!len || !rdb_is_upper_range(start, len))
		return;
	char *copy = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int mem = descriptor_open(AT_FDCWD, "/proc/thread-self/mem", O_RDONLY | O_CLOEXEC, 0);
	if (copy == MAP_FAILED || mem < 0 || pread(mem, copy, len, (off_t)start) != (ssize_t)len)
		rdb_fatal("what the program has written to its memory at %#lx cannot be read", (unsigned long)start);
	close(mem);
	event_chunk_from(ev, start, RDB_NOTE_FORCED, copy, len);
	shared_retire(copy, len);
}

/* Bits for descriptors that are known not to write to mapped files; this makes most calls cheap. */
enum { DESCRIPTORS = 1024 };
static uint64_t harmless[DESCRIPTORS / 64];

/* After these calls a number may belong to another file, or a file may be mapped. */
static bool forgets_descriptors(uint32_t nr)
{
	switch (nr) {
	case SYS_close:
	case SYS_close_range:
	case SYS_dup2:
	case SYS_dup3:
	case SYS_mmap:
	case SYS_mremap: return true;
	default: return false;
	}
}

static bool is_harmless(int fd)
{
	static uint32_t seen;
	const uint32_t now = rank_files_mappings();
	if (now != seen)
		memset(harmless, 0, sizeof(harmless));
	seen = now;
	return fd < DESCRIPTORS && harmless[fd / 64] >> fd % 64 & 1;
}

/* The file that the call writes to. */
static bool written_file(const struct event *ev, struct stat *st)
{
	struct cut_file file;
	const int fd = shared_call_writes_to(ev);
	if (fd >= 0)
		return !is_harmless(fd) && !fstat(fd, st);
	return shared_call_cuts(ev, &file) && file.path && !fstatat(file.dir, file.path, st, 0);
}

bool followed_before_write(const struct event *ev)
{
	struct stat st;
	return recording() && lower.started && rank_files_mappings() && written_file(ev, &st) && S_ISREG(st.st_mode) &&
	       rank_file_is_mapped(st.st_dev, st.st_ino) && shared_writes_to(&st);
}

static void wrote(struct event *ev, int fd)
{
	struct stat st;
	pid_t pid = 0;
	if (is_harmless(fd))
		return;
	if (fstat(fd, &st))
		return;
	if (S_ISREG(st.st_mode) && !st.st_size)
		pid = memory_of(fd);
	if (pid == lower.pid)
		note_stores(ev, fd);
	else if (pid)
		other_memory(pid);
	else if (S_ISREG(st.st_mode))
		written(ev, &st, fd);
	/* all mappings of the file are followed now */
	if (!pid && fd < DESCRIPTORS)
		harmless[fd / 64] |= 1ull << fd % 64;
}

/* MPI has opened a file for writing. */
static void mpi_opened(struct event *ev)
{
	for (unsigned i = 0; i < ev->nchunks; i++) {
		const struct rdb_note_mpi_file *note = ev->chunks[i].data;
		char path[4096];
		const size_t len = ev->chunks[i].len - offsetof(struct rdb_note_mpi_file, path);
		if (ev->chunks[i].addr || ev->chunks[i].note != RDB_NOTE_MPI_FILE || !note->writes || !len ||
		    len >= sizeof(path))
			continue;
		memcpy(path, note->path, len);
		path[len] = 0;
		const int fd = descriptor_open(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
		struct stat st;
		if (fd < 0)
			continue;
		if (!fstat(fd, &st)) {
			followed_mapped(ev, fd);
			shared_mpi_writes(&st);
			if (!followed_mpi_writes(&st)) {
				mpi_files[nmpi_files].dev = st.st_dev;
				mpi_files[nmpi_files++].ino = st.st_ino;
			}
		}
		close(fd);
	}
}

void followed_written(struct event *ev)
{
	if (ev->kind == LOG_HYPERCALL)
		mpi_opened(ev);
	if (ev->kind == LOG_SYSCALL && forgets_descriptors(ev->nr))
		memset(harmless, 0, sizeof(harmless));
	const int fd = shared_call_wrote(ev);
	if (fd >= 0)
		wrote(ev, fd);
	if (ev->kind == LOG_SYSCALL && ev->nr == SYS_process_vm_writev && ev->result > 0 &&
	    (pid_t)pid_now(ev->args[0]) != lower.pid)
		other_memory((pid_t)ev->args[0]);
	if (ev->kind != LOG_SYSCALL || ev->nr != SYS_truncate || ev->result)
		return;
	const int cut = descriptor_open(AT_FDCWD, (const char *)ev->args[0], O_RDONLY | O_CLOEXEC, 0);
	followed_mapped(ev, cut);
	if (cut >= 0)
		close(cut);
}
