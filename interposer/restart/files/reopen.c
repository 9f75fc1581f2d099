/* At the cut: makes the program's descriptors again, under its numbers. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "restart/base/cut.h"
#include "restart/files/open_files.h"
#include "restart/base/open_table.h"
#include "restart/copies/file_numbers.h"
#include "restart/copies/own_attributes.h"
#include "restart/copies/own_files.h"
#include "restart/copies/written_copies.h"
#include "restart/files/reopen.h"
#include "restart/sockets/sockets.h"
#include "restart/process/timerfds.h"
#include "base/descriptors.h"
#include "base/lower.h"
#include "base/pids.h"
#include "answer/syscall_table.h"
#include "task/signals.h"

#ifndef TFD_IOC_SET_TICKS
#define TFD_IOC_SET_TICKS _IOW('T', 0, uint64_t) /* linux/timerfd.h */
#endif

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
	if (fd < 0 || lower.opt.rolled_back)
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

/* memfd_create(2); struct opened has its seals and its mode, and its name if it is of a checkpoint without a log. */
static int memory_again(const struct opened *f)
{
	char path[4096], name[256] = "", link[64];
	struct opened to = {.kind = MEMORY};
	if (f->kind == MEMORY)
		snprintf(name, sizeof(name), "%.249s", f->path + strlen("/memfd:"));
	char *end = strstr(name, " (deleted)");
	if (end)
		*end = 0;
	to.copy = memfd_create(name, MFD_ALLOW_SEALING | MFD_CLOEXEC);
	if (to.copy < 0)
		return -1;
	if (f->kind == MEMORY)
		snprintf(path, sizeof(path), "%s/was-%u-%u", lower.opt.restart, lower.opt.checkpoint,
			 (unsigned)(f - open_table.opened));
	else
		snprintf(path, sizeof(path), "/proc/self/fd/%d", f->copy);
	copy_fill(path, &to, f->kind == MEMORY ? f->count : copy_end(f));
	snprintf(link, sizeof(link), "/proc/self/fd/%d", to.copy);
	const int fd = open(link, (int)(f->flags & ~(unsigned)(O_CREAT | O_EXCL | O_TRUNC)));
	if (fd < 0 || fchmod(to.copy, f->again) || lseek(fd, (off_t)f->offset, SEEK_SET) < 0 ||
	    (f->mask && fcntl(to.copy, F_ADD_SEALS, (int)f->mask)))
		live_refuse("%s: its memory cannot be made again: %s", f->path, strerror(errno));
	close(to.copy);
	return fd;
}

static int written_again(struct opened *f)
{
	char link[64];
	int fd;
	if (f->call == SYS_memfd_create)
		return memory_again(f);
	if (lower.opt.in_place && *f->path) {
		fd = in_place(f);
	} else {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", f->copy);
		fd = open(link, (int)(f->flags & ~(unsigned)(O_CREAT | O_EXCL | O_TRUNC | O_NOFOLLOW)));
	}
	if (fd >= 0 && lseek(fd, (off_t)f->offset, SEEK_SET) < 0)
		fd = -1;
	if (fd >= 0 && lower.opt.from_image && !*f->path) { /* it has no name any more */
		char place[LONGEST];
		copy_where(f->copy, place);
		unlink(place);
		fchmod(fd, f->again);
	}
	return fd;
}

static int read_again(const struct opened *f)
{
	const char *own = own_place(f->path);
	int fd = open(own ? own : f->path, (int)(f->flags & ~(unsigned)(O_CREAT | O_EXCL | O_TRUNC)));
	if (fd >= 0 && f->offset && !(f->flags & O_PATH)) {
		/* A directory of ext4 whose first listing is at its end stays empty, also at its beginning. */
		char entries[1024];
		raw_syscall(SYS_getdents64, fd, (long)entries, sizeof(entries), 0, 0, 0);
	}
	if (fd >= 0 && f->offset && lseek(fd, (off_t)f->offset, SEEK_SET) < 0)
		fd = -1;
	return fd;
}

int reopen(struct opened *f)
{
	const int fd = f->kind == FILE_WRITTEN ? written_again(f) : read_again(f);
	if (fd < 0)
		return -errno;
	file_numbers_add(fd, f->dev, f->ino);
	return fd;
}

static const char *made_by(const struct opened *f)
{
	if (!strncmp(f->path, "/proc/", 6) && strstr(f->path, "/fd/"))
		return "one that was opened through /dev/fd or /proc/self/fd";
	static char by[64];
	if (!syscall_row(f->call)) {
		snprintf(by, sizeof(by), "made by system call %lu, which is not known to rdb", (unsigned long)f->call);
		return by;
	}
	switch (f->call) {
	case SYS_socket:
	case SYS_socketpair:
	case SYS_accept:
	case SYS_accept4: return "a socket";
	case SYS_inotify_init:
	case SYS_inotify_init1: return "an inotify queue";
	case SYS_memfd_create: return "a file in memory that is mapped";
	case SYS_open:
	case SYS_openat: return "a terminal or a file of /proc";
	default: return "of a kind that cannot be made again";
	}
}

static int by_number(int fd, unsigned flags)
{
	char link[64];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return open(link, (int)(flags & ~(unsigned)(O_CREAT | O_EXCL | O_TRUNC)));
}

/* Makes a pipe when the first description of it is made; then all its descriptions. */
static int pipe_end(struct opened *f)
{
	int ends[2];
	if (pipe2(ends, 0))
		return -errno;
	pipe_fill(ends[0], open_table.pipes[f->pipe].bytes, open_table.pipes[f->pipe].len, f->count);
	for (struct opened *o = open_table.opened; o < open_table.opened + OPENED; o++)
		if (o->kind == PIPE && o->pipe == f->pipe) {
			if (!o->again)
				fcntl(ends[!o->read_end], F_SETFL, (int)(o->flags & (O_NONBLOCK | O_DIRECT)));
			o->made = high(o->again ? by_number(ends[0], o->flags) : dup(ends[!o->read_end]));
		}
	close(ends[0]);
	close(ends[1]);
	return f->made;
}

static int standard_again(const struct opened *f, const int standard[3])
{
	int fd = f->again ? by_number(standard[f->copy], f->flags) : -1;
	return fd < 0 ? dup(standard[f->copy]) : fd;
}

/* Only processes of the job have numbers that are translated. */
static int process_again(const struct opened *f)
{
	const struct pids *p = pids();
	const int32_t known = (int32_t)f->count;
	bool there = known == lower.upper.pid;
	for (unsigned i = 0; p && i < p->n; i++)
		there |= p->list[i].known == known && p->list[i].now;
	int fd = there && !(f->flags & O_EXCL) ? (int)raw_syscall(SYS_pidfd_open, (long)pid_now((uint64_t)known),
								  f->flags & O_NONBLOCK, 0, 0, 0, 0)
					       : -ESRCH;
	if (fd < 0)
		live_refuse("it has a pidfd of %s %d, which %s", f->flags & O_EXCL ? "thread" : "process", known,
			    there ? "cannot be made again" : "is not there");
	return fd;
}

static int again(struct opened *f, const int standard[3])
{
	switch (f->kind) {
	case STANDARD: return high(standard_again(f, standard));
	case FILE_READ:
	case FILE_WRITTEN: {
		const int fd = reopen(f);
		return fd < 0 ? fd : lower_fd(fd);
	}
	case MEMORY: return high(memory_again(f));
	case PIPE: return f->made ? f->made : pipe_end(f);
	case PROCESS: return high(process_again(f));
	case EVENT: return high(eventfd((unsigned)f->count, (int)f->flags & (EFD_SEMAPHORE | EFD_NONBLOCK)));
	case SOCKET: return socket_made(f);
	case EPOLL: return high(epoll_create1(0));
	case TIMER: {
		int fd = timerfd_create(f->clock, (int)f->flags & (TFD_NONBLOCK));
		const struct timer_state set = timerfd_state(f);
		if (fd >= 0 && timerfd_again(fd, f->clock, &set, live_cut_ns))
			return -errno;
		if (fd >= 0 && f->mask && lower.opt.from_image && ioctl(fd, TFD_IOC_SET_TICKS, &f->mask))
			rdb_warn("rank %d: %lu expirations of a timerfd that it had not read are lost: %s",
				 lower.opt.rank, (unsigned long)f->mask, strerror(errno));
		return high(fd);
	}
	case SIGNALS: {
		signals_by_descriptor(f->mask, false);
		return high(
			(int)raw_syscall(SYS_signalfd4, -1, (long)&f->mask, 8, (long)(f->flags & SFD_NONBLOCK), 0, 0));
	}
	default: return -ENOTSUP;
	}
}

static void put_again(int fd, const struct opened *f)
{
	const int flags = open_table.number[fd].cloexec ? O_CLOEXEC : 0;
	const long rc = f && f->made >= 0 ? raw_syscall(SYS_dup3, f->made, fd, flags, 0, 0, 0) : 0;
	if (rc < 0)
		live_refuse("descriptor %d: %s", fd, strerror((int)-rc));
}

/* A file that is watched may have lost its number; it has it again for a moment. */
static void watch_again(unsigned i)
{
	const struct opened *file = open_table.watched[i].file;
	const int fd = open_table.watched[i].fd;
	const bool lost = file && open_at((uint64_t)fd) != file;
	if (lost)
		put_again(fd, file);
	if (epoll_ctl(open_table.watched[i].set->made, EPOLL_CTL_ADD, fd, &open_table.watched[i].event))
		live_refuse("descriptor %d cannot be added to its epoll again: %s", fd, strerror(errno));
	if (lost && open_at((uint64_t)fd))
		put_again(fd, open_at((uint64_t)fd));
	else if (lost)
		raw_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
}

void open_files_restore(void)
{
	int standard[3];
	open_table_begin();
	for (int fd = 0; fd < 3; fd++) {
		int copy = dup(fd);
		standard[fd] = copy < 0 ? -1 : lower_fd(copy);
	}
	own_at_cut();
	for (unsigned fd = 0; fd < NUMBERS; fd++) {
		struct opened *f = open_table.number[fd].file;
		if (f && f->kind == OTHER)
			live_refuse("its descriptor %u is %s", fd, made_by(f));
		if (f && f->kind == FIFO)
			live_refuse("its descriptor %u is a FIFO (named pipe): %s", fd, f->path);
		if (f && f->kind == FILE_WRITTEN && f->several)
			live_refuse("%s: several of its processes have it open, and one of them has opened it twice: "
				    "the order of their writes is not known",
				    f->path);
		if (f && *f->why)
			live_refuse("%s: %s", *f->path ? f->path : "an epoll", f->why);
		if (f && f->kind == FILE_READ && !own_place(f->path) && access(f->path, R_OK))
			live_refuse("its descriptor %u cannot be opened again: %s: %s", fd, f->path, strerror(errno));
	}
	for (struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++) {
		if (f->kind == NONE || f->made)
			continue;
		int fd = again(f, standard);
		f->made = fd;
		if (fd < 0 && f->kind != STANDARD)
			live_refuse("%s: %s", *f->path ? f->path : "a descriptor", strerror(-fd));
	}
	descriptors_close_range(0, (unsigned)lower.lowest_fd - 1, 0);
	for (unsigned fd = 0; fd < NUMBERS; fd++)
		put_again((int)fd, open_table.number[fd].file);
	for (unsigned i = 0; i < open_table.nwatched; i++)
		watch_again(i);
	for (struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (f->kind != NONE && f->made >= 0)
			lower_fd_close(f->made);
	for (int fd = 0; fd < 3; fd++)
		if (standard[fd] >= 0)
			lower_fd_close(standard[fd]);
	own_attributes_at_cut();
}
