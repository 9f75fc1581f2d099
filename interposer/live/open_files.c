#include "live/open_files.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>
#include "live/live.h"
#include "process/descriptors.h"
#include "process/private_file.h"
#include "replay/replay.h"
#include "signals/signals.h"

#define A(i) (ev->args[i])

enum { NUMBERS = 4096, OPENED = 512, WATCHED = 1024, PIPE_ROOM = 1 << 20 };

enum kind { NONE, STANDARD, FILE_READ, FILE_WRITTEN, PIPE, EVENT, EPOLL, TIMER, SIGNALS, OTHER };

/* An open file description (open(2)): what dup(2) shares. */
struct opened {
	enum kind kind;
	unsigned refs;
	unsigned flags; /* O_* */
	uint64_t offset;
	int copy;       /* FILE_WRITTEN: the branch's copy; STANDARD: which */
	uint32_t call;  /* OTHER: the call that made it */
	uint64_t count; /* EVENT */
	bool read_end;  /* PIPE */
	unsigned pipe;  /* PIPE: index in pipes */
	uint64_t mask;  /* SIGNALS */
	int clock;      /* TIMER */
	struct itimerspec timer;
	int made; /* while descriptors are restored */
	char path[4096];
};

static struct {
	bool begun;
	struct opened opened[OPENED];
	struct {
		struct opened *file;
		bool cloexec;
	} number[NUMBERS];
	struct {
		struct opened *set;
		int fd;
		struct epoll_event event;
	} watched[WATCHED];
	unsigned nwatched;
	struct {
		uint8_t *bytes; /* written and not yet read */
		size_t len;
	} pipes[OPENED];
	unsigned npipes, copies;
} files;

static bool load(void);

static void begin(void)
{
	if (files.begun)
		return;
	files.begun = true;
	if (load())
		return;
	for (int fd = 0; fd < 3; fd++) {
		files.opened[fd] = (struct opened){.kind = STANDARD, .refs = 1, .copy = fd};
		files.number[fd].file = &files.opened[fd];
	}
}

static struct opened *at(uint64_t fd)
{
	return fd < NUMBERS ? files.number[fd].file : NULL;
}

static void drop(uint64_t fd)
{
	struct opened *f = at(fd);
	if (!f)
		return;
	files.number[fd].file = NULL;
	bool closed = --f->refs == 0;
	unsigned kept = 0;
	for (unsigned i = 0; i < files.nwatched; i++)
		if (!closed || (files.watched[i].set != f && at((uint64_t)files.watched[i].fd)))
			files.watched[kept++] = files.watched[i];
	files.nwatched = kept;
	if (closed && f->kind == FILE_WRITTEN)
		lower_fd_close(f->copy);
	if (closed)
		f->kind = NONE;
}

static void put(int64_t fd, struct opened *f, bool cloexec)
{
	if (fd < 0 || fd >= NUMBERS)
		live_refuse("it has opened descriptor %ld", (long)fd);
	f->refs++;
	drop((uint64_t)fd);
	files.number[fd].file = f;
	files.number[fd].cloexec = cloexec;
}

static struct opened *make(enum kind kind, unsigned flags)
{
	struct opened *f = files.opened;
	while (f < files.opened + OPENED && f->kind != NONE)
		f++;
	if (f == files.opened + OPENED)
		live_refuse("it has more than %d files open", OPENED);
	memset(f, 0, sizeof(*f));
	f->kind = kind;
	f->flags = flags & ~(unsigned)O_CLOEXEC;
	return f;
}

/* The path without links on the way; the last part need not exist.  False: it cannot be resolved. */
static bool whole_path(int dirfd, const char *path, char *out)
{
	char dir[4096], joined[4096], base[256];
	const struct opened *from = dirfd == AT_FDCWD ? NULL : at((uint64_t)dirfd);
	const char *start = path[0] == '/' ? "" : from ? from->path : ".";
	if ((size_t)snprintf(joined, sizeof(joined), "%s%s%s", start, *start ? "/" : "", path) >= sizeof(joined))
		return false;
	if (realpath(joined, out))
		return true;
	char *slash = strrchr(joined, '/');
	if ((size_t)snprintf(base, sizeof(base), "%s", slash ? slash + 1 : joined) >= sizeof(base))
		return false;
	if (slash)
		*slash = 0;
	if (!realpath(!slash ? "." : *joined ? joined : "/", dir))
		return false;
	return (size_t)snprintf(out, 4096, "%s/%s", strcmp(dir, "/") ? dir : "", base) < 4096;
}

/* ---- files that are written to ---- */

static void copy_path(char *out, size_t size, unsigned number, const char *path)
{
	const char *slash = strrchr(path, '/');
	if ((size_t)snprintf(out, size, "%s/file-%u-%.200s", lower.opt.branch, number, slash ? slash + 1 : path) >=
	    size)
		live_refuse("%s: too long a path", path);
}

static void copy_bytes(const char *from, struct opened *f, uint64_t size)
{
	char buf[65536];
	int fd = descriptor_open(AT_FDCWD, from, O_RDONLY, 0);
	for (uint64_t done = 0; done < size;) {
		uint64_t want = size - done < sizeof(buf) ? size - done : sizeof(buf);
		ssize_t n = fd < 0 ? -1 : pread(fd, buf, want, (off_t)done);
		if (n <= 0 || pwrite(f->copy, buf, (size_t)n, (off_t)done) != n)
			live_refuse("%s: what was in it before is gone", from);
		done += (uint64_t)n;
	}
	close(fd);
}

/* What was in it before: the program truncated it, or only appends to what is there still. */
static void fill_copy(struct opened *f, const struct rdb_note_opened *note)
{
	if (f->flags & (O_TRUNC | O_EXCL) || (note && !note->size))
		return;
	if (!note)
		live_refuse("%s: what was in it before is not known", f->path);
	if (!(f->flags & O_APPEND))
		live_refuse("%s: it was opened with %lu bytes in it, which may have been written over since", f->path,
			    (unsigned long)note->size);
	copy_bytes(f->path, f, note->size);
}

static void write_copy(struct opened *f, uint64_t offset, const void *bytes, uint64_t len)
{
	for (uint64_t done = 0; done < len;) {
		ssize_t n = pwrite(f->copy, (const char *)bytes + done, len - done, (off_t)(offset + done));
		if (n <= 0)
			live_refuse("%s: its copy cannot be written: %s", f->path, strerror(errno));
		done += (uint64_t)n;
	}
}

static uint64_t end_of(const struct opened *f)
{
	struct stat st;
	return fstat(f->copy, &st) ? 0 : (uint64_t)st.st_size;
}

static void new_copy(struct opened *f)
{
	char copy[4096];
	copy_path(copy, sizeof(copy), files.copies++, f->path);
	int fd = private_create(AT_FDCWD, copy, O_RDWR | O_EXCL);
	f->copy = fd < 0 ? fd : lower_fd(fd);
	if (f->copy < 0)
		live_refuse("%s: %s", copy, strerror(-f->copy));
}

static void opened(const struct event *ev, int dirfd, const char *path, unsigned flags)
{
	char full[4096];
	struct stat st;
	size_t len = 0;
	if (!whole_path(dirfd, path, full))
		live_refuse("%s: it is not there any more", path);
	bool there = stat(full, &st) == 0, written = (flags & O_ACCMODE) != O_RDONLY;
	struct opened *f = make(written && !(there && !S_ISREG(st.st_mode)) ? FILE_WRITTEN : FILE_READ, flags);
	if ((flags & O_TMPFILE) == O_TMPFILE || !strncmp(full, "/proc/", 6) || !strncmp(full, "/dev/pts/", 9)) {
		f->kind = OTHER;
		f->call = ev->nr;
	}
	strcpy(f->path, full);
	if (f->kind == FILE_WRITTEN) {
		const struct rdb_note_opened *note = replay_note(RDB_NOTE_OPENED, &len);
		for (struct opened *other = files.opened; other < files.opened + OPENED; other++)
			if (other != f && other->kind == FILE_WRITTEN && !strcmp(other->path, full))
				live_refuse("%s: it has opened it twice for writing", full);
		new_copy(f);
		fill_copy(f, len == sizeof(*note) ? note : NULL);
	}
	put(ev->result, f, flags & O_CLOEXEC);
}

/* ---- reading and writing ---- */

static void moved(const struct event *ev, struct opened *f, const void *bytes, uint64_t done, bool writing,
		  const uint64_t *where)
{
	uint64_t offset = where ? *where : f->offset;
	switch (f->kind) {
	case FILE_WRITTEN:
		if (writing) {
			if (f->flags & O_APPEND)
				offset = end_of(f);
			write_copy(f, offset, bytes, done);
		}
		/* fallthrough */
	case FILE_READ:
		if (!where)
			f->offset = offset + done;
		break;
	case PIPE: {
		uint8_t **have = &files.pipes[f->pipe].bytes;
		size_t *len = &files.pipes[f->pipe].len;
		if (writing) {
			uint8_t *more = realloc(*have, *len + done);
			if (!more || *len + done > PIPE_ROOM)
				live_refuse("more than %d bytes are in one of its pipes", PIPE_ROOM);
			memcpy(more + *len, bytes, done);
			*have = more;
			*len += done;
		} else {
			done = done < *len ? done : *len;
			*len -= done;
			memmove(*have, *have + done, *len);
		}
		break;
	}
	case EVENT: {
		uint64_t value;
		memcpy(&value, bytes, sizeof(value));
		f->count += writing ? value : -value;
		break;
	}
	default: break;
	}
}

static void moved_parts(const struct event *ev, bool writing, const uint64_t *where)
{
	const struct iovec *iov = (const void *)A(1);
	struct opened *f = at(A(0));
	uint64_t left = (uint64_t)ev->result, offset = where ? *where : 0;
	for (uint64_t i = 0; f && i < A(2) && left; i++) {
		uint64_t n = iov[i].iov_len < left ? iov[i].iov_len : left;
		moved(ev, f, iov[i].iov_base, n, writing, where ? &offset : NULL);
		offset += n;
		left -= n;
	}
}

static void listed(const struct event *ev, struct opened *f)
{
	const char *entries = (const char *)A(1);
	uint16_t size;
	for (int64_t i = 0; f && i < ev->result; i += size) { /* getdents(2): d_off is where the next one is */
		memcpy(&size, entries + i + 16, sizeof(size));
		memcpy(&f->offset, entries + i + 8, sizeof(f->offset));
	}
}

static void controlled(const struct event *ev)
{
	struct opened *f = at(A(0));
	if (!f)
		return;
	switch (A(1)) {
	case F_DUPFD: put(ev->result, f, false); break;
	case F_DUPFD_CLOEXEC: put(ev->result, f, true); break;
	case F_SETFD: files.number[A(0)].cloexec = A(2) & FD_CLOEXEC; break;
	case F_SETFL:
		f->flags = (f->flags & (O_ACCMODE | O_TRUNC | O_EXCL)) | ((unsigned)A(2) & ~(unsigned)O_ACCMODE);
		break;
	}
}

static void piped(const struct event *ev, unsigned flags)
{
	const int *ends = (const int *)A(0);
	if (files.npipes == OPENED)
		live_refuse("it has made more than %d pipes", OPENED);
	for (int i = 0; i < 2; i++) {
		struct opened *f = make(PIPE, flags | (i ? O_WRONLY : O_RDONLY));
		f->read_end = !i;
		f->pipe = files.npipes;
		put(ends[i], f, flags & O_CLOEXEC);
	}
	files.npipes++;
}

static void watch(const struct event *ev)
{
	struct opened *set = at(A(0));
	unsigned i = 0;
	while (i < files.nwatched && !(files.watched[i].set == set && files.watched[i].fd == (int)A(2)))
		i++;
	if (A(1) == EPOLL_CTL_DEL) {
		if (i < files.nwatched)
			files.watched[i] = files.watched[--files.nwatched];
		return;
	}
	if (i == WATCHED)
		live_refuse("its epolls have more than %d descriptors", WATCHED);
	files.watched[i].set = set;
	files.watched[i].fd = (int)A(2);
	memcpy(&files.watched[i].event, (const void *)A(3), sizeof(struct epoll_event));
	if (i == files.nwatched)
		files.nwatched++;
}

static void other(const struct event *ev, int64_t fd, bool cloexec)
{
	struct opened *f = make(OTHER, 0);
	f->call = ev->nr;
	put(fd, f, cloexec);
}

void open_files_syscall(const struct event *ev)
{
	struct opened *f;
	begin();
	switch (ev->nr) {
	case SYS_open: opened(ev, AT_FDCWD, (const char *)A(0), (unsigned)A(1)); break;
	case SYS_openat: opened(ev, (int)A(0), (const char *)A(1), (unsigned)A(2)); break;
	case SYS_creat: opened(ev, AT_FDCWD, (const char *)A(0), O_WRONLY | O_CREAT | O_TRUNC); break;
	case SYS_close: drop(A(0)); break;
	case SYS_close_range:
		for (uint64_t fd = A(0); fd <= A(1) && fd < NUMBERS; fd++)
			if (A(2) & 4 /* CLOSE_RANGE_CLOEXEC */)
				files.number[fd].cloexec = true;
			else
				drop(fd);
		break;
	case SYS_dup:
		if ((f = at(A(0))))
			put(ev->result, f, false);
		break;
	case SYS_dup2:
	case SYS_dup3:
		if ((f = at(A(0))) && A(0) != A(1))
			put(ev->result, f, ev->nr == SYS_dup3 && A(2) & O_CLOEXEC);
		break;
	case SYS_fcntl: controlled(ev); break;
	case SYS_read:
		if ((f = at(A(0))))
			moved(ev, f, (const void *)A(1), (uint64_t)ev->result, false, NULL);
		break;
	case SYS_write:
		if ((f = at(A(0))))
			moved(ev, f, (const void *)A(1), (uint64_t)ev->result, true, NULL);
		break;
	case SYS_pwrite64:
		if ((f = at(A(0))))
			moved(ev, f, (const void *)A(1), (uint64_t)ev->result, true, &A(3));
		break;
	case SYS_readv: moved_parts(ev, false, NULL); break;
	case SYS_writev: moved_parts(ev, true, NULL); break;
	case SYS_pwritev: moved_parts(ev, true, &A(3)); break;
	case SYS_lseek:
		if ((f = at(A(0))))
			f->offset = (uint64_t)ev->result;
		break;
	case SYS_getdents64: listed(ev, at(A(0))); break;
	case SYS_ftruncate:
		if ((f = at(A(0))) && f->kind == FILE_WRITTEN && ftruncate(f->copy, (off_t)A(1)))
			live_refuse("%s: its copy cannot be cut: %s", f->path, strerror(errno));
		break;
	case SYS_sendfile:
	case SYS_splice:
	case SYS_tee:
	case SYS_copy_file_range:
	case SYS_preadv2:
	case SYS_pwritev2:
	case SYS_fallocate:
		for (unsigned i = 0; i < 3; i += 2)
			if ((f = at(A(i))) && (f->kind == FILE_WRITTEN || f->kind == FILE_READ || f->kind == PIPE)) {
				f->kind = f->kind == FILE_WRITTEN ? FILE_WRITTEN : OTHER;
				if (f->kind == FILE_WRITTEN)
					live_refuse("%s: it was written by a call that cannot be made again", f->path);
				f->call = ev->nr;
			}
		break;
	case SYS_pipe: piped(ev, 0); break;
	case SYS_pipe2: piped(ev, (unsigned)A(1)); break;
	case SYS_eventfd:
	case SYS_eventfd2:
		f = make(EVENT, ev->nr == SYS_eventfd ? 0 : (unsigned)A(1));
		f->count = A(0);
		put(ev->result, f, ev->nr == SYS_eventfd2 && A(1) & EFD_CLOEXEC);
		break;
	case SYS_epoll_create:
	case SYS_epoll_create1:
		put(ev->result, make(EPOLL, 0), ev->nr == SYS_epoll_create1 && A(0) & EPOLL_CLOEXEC);
		break;
	case SYS_epoll_ctl: watch(ev); break;
	case SYS_timerfd_create:
		f = make(TIMER, (unsigned)A(1));
		f->clock = (int)A(0);
		put(ev->result, f, A(1) & TFD_CLOEXEC);
		break;
	case SYS_timerfd_settime:
		if ((f = at(A(0)))) {
			memcpy(&f->timer, (const void *)A(2), sizeof(f->timer));
			f->flags = A(1) ? f->flags | O_TRUNC : f->flags & ~(unsigned)O_TRUNC; /* absolute */
		}
		break;
	case SYS_signalfd:
	case SYS_signalfd4:
		if (A(0) != (uint64_t)-1 && (int)A(0) != -1)
			break;
		f = make(SIGNALS, ev->nr == SYS_signalfd4 ? (unsigned)A(3) : 0);
		memcpy(&f->mask, (const void *)A(1), sizeof(f->mask));
		put(ev->result, f, ev->nr == SYS_signalfd4 && A(3) & SFD_CLOEXEC);
		break;
	case SYS_socketpair:
		other(ev, ((const int *)A(3))[0], A(1) & O_CLOEXEC);
		other(ev, ((const int *)A(3))[1], A(1) & O_CLOEXEC);
		break;
	case SYS_socket: other(ev, ev->result, A(1) & O_CLOEXEC); break;
	case SYS_accept:
	case SYS_accept4:
	case SYS_inotify_init:
	case SYS_inotify_init1:
	case SYS_memfd_create:
	case SYS_pidfd_open:
	case SYS_perf_event_open:
	case SYS_openat2: other(ev, ev->result, true); break;
	case SYS_chdir:
		if (chdir((const char *)A(0)))
			live_refuse("%s: %s", (const char *)A(0), strerror(errno));
		break;
	case SYS_fchdir:
		if (!(f = at(A(0))) || chdir(f->path))
			live_refuse("its directory cannot be found again");
		break;
	case SYS_umask: umask((mode_t)A(0)); break;
	}
}

/* ---- at the cut ---- */

static int high(int fd)
{
	int rc = fd < 0 ? -errno : lower_fd(fd);
	return rc;
}

static int in_place(const struct opened *f)
{
	char buf[65536];
	ssize_t n;
	uint64_t done = 0;
	int fd = open(f->path, (int)(f->flags & ~(unsigned)(O_EXCL | O_TRUNC | O_ACCMODE)) | O_RDWR | O_CREAT, 0666);
	if (fd < 0)
		return fd;
	if (ftruncate(fd, 0))
		live_refuse("%s: %s", f->path, strerror(errno));
	while ((n = pread(f->copy, buf, sizeof(buf), (off_t)done)) > 0) {
		if (pwrite(fd, buf, (size_t)n, (off_t)done) != n)
			live_refuse("%s: it cannot be rolled back: %s", f->path, strerror(errno));
		done += (uint64_t)n;
	}
	return fd;
}

static int written_again(struct opened *f)
{
	char link[64];
	int fd;
	if (lower.opt.in_place) {
		fd = in_place(f);
	} else {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", f->copy);
		fd = open(link, (int)(f->flags & ~(unsigned)(O_CREAT | O_EXCL | O_TRUNC)));
	}
	if (fd >= 0 && lseek(fd, (off_t)f->offset, SEEK_SET) < 0)
		fd = -1;
	return fd;
}

static int read_again(const struct opened *f)
{
	int fd = open(f->path, (int)(f->flags & ~(unsigned)(O_CREAT | O_EXCL | O_TRUNC)));
	if (fd >= 0 && f->offset && lseek(fd, (off_t)f->offset, SEEK_SET) < 0)
		fd = -1;
	return fd;
}

static const char *made_by(uint32_t nr)
{
	switch (nr) {
	case SYS_socket:
	case SYS_socketpair:
	case SYS_accept:
	case SYS_accept4: return "a socket";
	case SYS_inotify_init:
	case SYS_inotify_init1: return "an inotify queue";
	case SYS_memfd_create: return "a file in memory";
	case SYS_open:
	case SYS_openat: return "a terminal or a file of /proc";
	default: return "of a kind that cannot be made again";
	}
}

static int pipe_end(struct opened *f)
{
	int ends[2];
	if (pipe2(ends, (int)(f->flags & (O_NONBLOCK | O_DIRECT))))
		return -errno;
	struct opened *peer = NULL;
	for (struct opened *o = files.opened; o < files.opened + OPENED; o++)
		if (o != f && o->kind == PIPE && o->pipe == f->pipe)
			peer = o;
	size_t len = files.pipes[f->pipe].len;
	if (len && write(ends[1], files.pipes[f->pipe].bytes, len) != (ssize_t)len)
		live_refuse("one of its pipes does not take what was in it");
	if (peer)
		peer->made = high(ends[f->read_end]);
	else
		close(ends[f->read_end]);
	return high(ends[!f->read_end]);
}

static int again(struct opened *f, const int standard[3])
{
	switch (f->kind) {
	case STANDARD: return high(dup(standard[f->copy]));
	case FILE_READ: return high(read_again(f));
	case FILE_WRITTEN: return high(written_again(f));
	case PIPE: return f->made ? f->made : pipe_end(f);
	case EVENT: return high(eventfd((unsigned)f->count, (int)f->flags & ~EFD_CLOEXEC));
	case EPOLL: return high(epoll_create1(0));
	case TIMER: {
		int fd = timerfd_create(f->clock, (int)f->flags & (TFD_NONBLOCK));
		if (fd >= 0 && timerfd_settime(fd, f->flags & O_TRUNC ? TFD_TIMER_ABSTIME : 0, &f->timer, NULL))
			return -errno;
		return high(fd);
	}
	case SIGNALS: {
		signals_by_descriptor(f->mask);
		return high(
			(int)raw_syscall(SYS_signalfd4, -1, (long)&f->mask, 8, (long)(f->flags & SFD_NONBLOCK), 0, 0));
	}
	default: return -ENOTSUP;
	}
}

void open_files_restore(void)
{
	int standard[3];
	begin();
	for (int fd = 0; fd < 3; fd++) {
		int copy = dup(fd);
		standard[fd] = copy < 0 ? -1 : lower_fd(copy);
	}
	for (unsigned fd = 0; fd < NUMBERS; fd++) {
		struct opened *f = files.number[fd].file;
		if (f && f->kind == OTHER)
			live_refuse("its descriptor %u is %s", fd, made_by(f->call));
		for (const struct opened *o = files.opened; f && o < files.opened + OPENED; o++)
			if (f->kind == FILE_READ && o->kind == FILE_WRITTEN && !strcmp(f->path, o->path))
				live_refuse("%s: it reads what it writes, by another descriptor", f->path);
		if (f && (f->kind == FILE_READ) && access(f->path, R_OK))
			live_refuse("descriptor %u was %s: %s", fd, f->path, strerror(errno));
	}
	for (struct opened *f = files.opened; f < files.opened + OPENED; f++) {
		if (f->kind == NONE || f->made)
			continue;
		int fd = again(f, standard);
		f->made = fd;
		if (fd < 0 && f->kind != STANDARD)
			live_refuse("%s: %s", *f->path ? f->path : "a descriptor", strerror(-fd));
	}
	descriptors_close_range(0, (unsigned)lower.lowest_fd - 1, 0);
	for (unsigned fd = 0; fd < NUMBERS; fd++) {
		struct opened *f = files.number[fd].file;
		if (f && f->made >= 0 &&
		    raw_syscall(SYS_dup3, f->made, fd, files.number[fd].cloexec ? O_CLOEXEC : 0, 0, 0, 0) < 0)
			live_refuse("descriptor %u: %s", fd, strerror(errno));
	}
	for (unsigned i = 0; i < files.nwatched; i++)
		if (epoll_ctl(files.watched[i].set->made, EPOLL_CTL_ADD, files.watched[i].fd, &files.watched[i].event))
			live_refuse("its epoll does not take descriptor %d: %s", files.watched[i].fd, strerror(errno));
	for (struct opened *f = files.opened; f < files.opened + OPENED; f++)
		if (f->kind != NONE && f->made >= 0)
			lower_fd_close(f->made);
	for (int fd = 0; fd < 3; fd++)
		if (standard[fd] >= 0)
			lower_fd_close(standard[fd]);
}

/* ---- a branch's own beginning, for a restart of that ---- */

#define SAVED_MAGIC 0x31736c6966626472ull

struct saved {
	uint64_t magic;
	uint32_t nopened, nnumbers, nwatched, npipes;
	uint32_t mask, size; /* umask(2); sizeof(struct opened) */
	char cwd[4096];
};
struct saved_number {
	uint32_t fd, opened, cloexec;
};
struct saved_watch {
	uint32_t set;
	int32_t fd;
	struct epoll_event event;
};

static void save_part(int fd, const void *bytes, size_t len)
{
	if (write(fd, bytes, len) != (ssize_t)len)
		live_refuse("%s/descriptors: %s", lower.opt.branch, strerror(errno));
}

static uint32_t index_of(const struct opened *f)
{
	return (uint32_t)(f - files.opened);
}

/* The live copy goes on changing: this one stays as it was. */
static void keep_copy(const struct opened *f)
{
	char path[4096], link[64];
	struct opened kept = {0};
	snprintf(path, sizeof(path), "%s/was-%u", lower.opt.branch, index_of(f));
	snprintf(link, sizeof(link), "/proc/self/fd/%d", f->copy);
	kept.copy = private_create(AT_FDCWD, path, O_RDWR | O_EXCL);
	if (kept.copy < 0)
		live_refuse("%s: %s", path, strerror(-kept.copy));
	copy_bytes(link, &kept, end_of(f));
	close(kept.copy);
}

void open_files_save(void)
{
	char path[4096];
	static struct saved head;
	begin();
	head = (struct saved){.magic = SAVED_MAGIC, .nwatched = files.nwatched, .npipes = files.npipes};
	head.size = sizeof(struct opened);
	head.mask = umask(0);
	umask(head.mask);
	if (!getcwd(head.cwd, sizeof(head.cwd)))
		live_refuse("its directory is gone");
	for (unsigned i = 0; i < OPENED; i++)
		head.nopened = files.opened[i].kind != NONE ? i + 1 : head.nopened;
	for (unsigned fd = 0; fd < NUMBERS; fd++)
		head.nnumbers += files.number[fd].file != NULL;
	snprintf(path, sizeof(path), "%s/descriptors", lower.opt.branch);
	int fd = private_create(AT_FDCWD, path, O_WRONLY | O_EXCL);
	if (fd < 0)
		live_refuse("%s: %s", path, strerror(-fd));
	save_part(fd, &head, sizeof(head));
	save_part(fd, files.opened, head.nopened * sizeof(struct opened));
	for (unsigned n = 0; n < NUMBERS; n++) {
		struct saved_number one = {.fd = n, .cloexec = files.number[n].cloexec};
		if (!files.number[n].file)
			continue;
		one.opened = index_of(files.number[n].file);
		save_part(fd, &one, sizeof(one));
	}
	for (unsigned i = 0; i < files.nwatched; i++) {
		struct saved_watch one = {.set = index_of(files.watched[i].set), .fd = files.watched[i].fd};
		one.event = files.watched[i].event;
		save_part(fd, &one, sizeof(one));
	}
	for (unsigned i = 0; i < files.npipes; i++) {
		uint64_t len = files.pipes[i].len;
		save_part(fd, &len, sizeof(len));
		save_part(fd, files.pipes[i].bytes, len);
	}
	close(fd);
	for (const struct opened *f = files.opened; f < files.opened + head.nopened; f++)
		if (f->kind == FILE_WRITTEN)
			keep_copy(f);
}

static void load_part(int fd, void *bytes, size_t len)
{
	if (read(fd, bytes, len) != (ssize_t)len)
		live_refuse("%s/descriptors is damaged", lower.opt.restart);
}

static bool load(void)
{
	char path[4096];
	static struct saved head;
	snprintf(path, sizeof(path), "%s/descriptors", lower.opt.restart);
	int fd = descriptor_open(AT_FDCWD, path, O_RDONLY, 0);
	if (fd < 0)
		return false;
	load_part(fd, &head, sizeof(head));
	if (head.magic != SAVED_MAGIC || head.size != sizeof(struct opened) || head.nopened > OPENED ||
	    head.nnumbers > NUMBERS || head.nwatched > WATCHED || head.npipes > OPENED ||
	    !memchr(head.cwd, 0, sizeof(head.cwd)))
		live_refuse("%s is damaged, or another rdb's", path);
	if (chdir(head.cwd))
		live_refuse("%s: %s", head.cwd, strerror(errno));
	umask(head.mask);
	load_part(fd, files.opened, head.nopened * sizeof(struct opened));
	for (unsigned i = 0; i < head.nnumbers; i++) {
		struct saved_number one;
		load_part(fd, &one, sizeof(one));
		if (one.fd >= NUMBERS || one.opened >= head.nopened)
			live_refuse("%s is damaged", path);
		files.number[one.fd].file = &files.opened[one.opened];
		files.number[one.fd].cloexec = one.cloexec;
	}
	files.nwatched = head.nwatched;
	for (unsigned i = 0; i < head.nwatched; i++) {
		struct saved_watch one;
		load_part(fd, &one, sizeof(one));
		if (one.set >= head.nopened)
			live_refuse("%s is damaged", path);
		files.watched[i].set = &files.opened[one.set];
		files.watched[i].fd = one.fd;
		files.watched[i].event = one.event;
	}
	files.npipes = head.npipes;
	for (unsigned i = 0; i < head.npipes; i++) {
		uint64_t len;
		load_part(fd, &len, sizeof(len));
		files.pipes[i].bytes = len <= PIPE_ROOM ? malloc(len ? len : 1) : NULL;
		if (!files.pipes[i].bytes)
			live_refuse("%s is damaged", path);
		files.pipes[i].len = len;
		load_part(fd, files.pipes[i].bytes, len);
	}
	close(fd);
	for (unsigned i = 0; i < head.nopened; i++) {
		struct opened *f = &files.opened[i];
		struct stat st;
		f->made = 0;
		if (f->kind != FILE_WRITTEN)
			continue;
		snprintf(path, sizeof(path), "%s/was-%u", lower.opt.restart, i);
		if (stat(path, &st))
			live_refuse("%s: %s", path, strerror(errno));
		new_copy(f);
		copy_bytes(path, f, (uint64_t)st.st_size);
	}
	return true;
}

const char *open_files_path(int dirfd, const char *path)
{
	static char full[4096], link[64];
	if (!files.begun || lower.opt.in_place || !path || !files.copies)
		return path;
	if (dirfd != AT_FDCWD && path[0] != '/')
		return path;
	if (!whole_path(AT_FDCWD, path, full))
		return path;
	for (const struct opened *f = files.opened; f < files.opened + OPENED; f++)
		if (f->kind == FILE_WRITTEN && !strcmp(f->path, full)) {
			snprintf(link, sizeof(link), "/proc/self/fd/%d", f->copy);
			return link;
		}
	return path;
}
