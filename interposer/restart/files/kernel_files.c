/* proc(5), /proc/pid/fd and /proc/pid/fdinfo: what an open file is, its flags and offset, what an epoll watches, when a
 * timer goes off.  kcmp(2) says which descriptors share one; tee(2) looks into a pipe. */
#include "restart/files/kernel_files.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include "base/descriptors.h"
#include "restart/copies/file_numbers.h"
#include "restart/copies/own_files.h"
#include "restart/files/file_locks.h"
#include "restart/files/kernel_look.h"
#include "restart/files/own_numbers.h"
#include "restart/process/timerfds.h"
#include "restart/sockets/kernel_sockets.h"
#include "task/thread.h"

enum { MQUEUE_MAGIC = 0x19800202 /* ipc/mqueue.c */ };

struct kernel_look kernel_look;

const char *kernel_files_cannot(const char *fmt, ...)
{
	static char why[4300];
	va_list words;
	va_start(words, fmt);
	vsnprintf(why, sizeof(why), fmt, words);
	va_end(words);
	return why;
}

static void info_of(int fd, char *text, size_t room)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	descriptor_text(path, text, room);
}

static const char *value_of(const char *info, const char *name)
{
	const char *at = strstr(info, name);
	return at ? at + strlen(name) : "0";
}

static long signal_of(int fd)
{
	return raw_syscall(SYS_fcntl, fd, F_GETSIG, 0, 0, 0, 0);
}

/* Many containers do not allow kcmp(2).  Then the signal that an open file sends (fcntl(2), F_SETSIG) is changed for a
 * moment: it changes for all its descriptors. */
static bool same_file(int a, int b)
{
	const long same = raw_syscall(SYS_kcmp, lower.pid, lower.pid, KCMP_FILE, a, b, 0);
	if (same >= 0)
		return same == 0;
	const long was = signal_of(a);
	if (was < 0 || was != signal_of(b))
		return false;
	bool follows = true;
	for (int sig = SIGRTMAX - 1; sig <= SIGRTMAX; sig++)
		follows &= raw_syscall(SYS_fcntl, a, F_SETSIG, sig, 0, 0, 0) == 0 && signal_of(b) == sig;
	raw_syscall(SYS_fcntl, a, F_SETSIG, was, 0, 0, 0);
	return follows;
}

/* proc(5), fdinfo of an epoll: is that descriptor still the file that is watched? */
static bool watches(const char *line, int fd)
{
	unsigned long ino, dev;
	struct stat st;
	const size_t len = strcspn(line, "\n");
	const char *where = memmem(line, len, "ino:", 4);
	if (fstat(fd, &st))
		return false;
	if (!where || sscanf(where, "ino:%lx sdev:%lx", &ino, &dev) != 2)
		return true; /* a kernel that does not say it */
	return ino == st.st_ino;
}

static const char *look_at_epoll(const char *info, uint32_t set)
{
	for (const char *at = info; (at = strstr(at, "tfd:")); at++) {
		int fd;
		unsigned events;
		unsigned long data;
		if (sscanf(at, "tfd: %d events: %x data: %lx", &fd, &events, &data) != 3)
			continue;
		if (!watches(at, fd))
			return kernel_files_cannot(
				"its epoll watches descriptor %d, which it has closed, under another number", fd);
		if (kernel_look.nwatched == WATCHED)
			return "its epolls have too many descriptors";
		kernel_look.watched[kernel_look.nwatched++] = (struct saved_watch){
			.set = set, .file = UINT32_MAX, .fd = fd, .event = {.events = events, .data.u64 = data}};
	}
	return NULL;
}

/* A time of the real-time clock stays one: it comes when that clock says so. */
static void look_at_timer(int fd, struct opened *f)
{
	char info[1024];
	struct timespec now;
	timerfd_gettime(fd, &f->timer); /* one that has expired begins its next period here, not only when it is read */
	info_of(fd, info, sizeof(info));
	f->clock = atoi(value_of(info, "clockid:"));
	f->mask = strtoul(value_of(info, "ticks:"), NULL, 10);
	const unsigned long how = strtoul(value_of(info, "settime flags:"), NULL, 8);
	const bool real = f->clock == CLOCK_REALTIME || f->clock == CLOCK_REALTIME_ALARM;
	if (!real || !(how & TFD_TIMER_ABSTIME) || !(f->timer.it_value.tv_sec || f->timer.it_value.tv_nsec))
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	f->timer.it_value.tv_sec += now.tv_sec + (f->timer.it_value.tv_nsec + now.tv_nsec) / 1000000000;
	f->timer.it_value.tv_nsec = (f->timer.it_value.tv_nsec + now.tv_nsec) % 1000000000;
	timerfd_flags(f, how);
}

/* Before Linux 6.5 only a read tells it; afterwards the count is the same again. */
static bool is_semaphore(int fd, uint64_t count)
{
	const uint64_t more = count < 2 ? 2 - count : 0;
	uint64_t got = 0;
	if ((more && write(fd, &more, sizeof(more)) < 0) || read(fd, &got, sizeof(got)) < 0)
		return false;
	uint64_t back = got == 1 ? 1 - (more == 1) : count;
	if (got == 1 && more == 2)
		return read(fd, &got, sizeof(got)) > 0;
	return (!back || write(fd, &back, sizeof(back)) > 0) && got == 1;
}

static const char *look_at_other(int fd, struct opened *f, const char *info)
{
	if (!strcmp(f->path, "anon_inode:[eventfd]")) {
		f->kind = EVENT;
		f->count = strtoul(value_of(info, "eventfd-count:"), NULL, 16);
		const bool said = strstr(info, "eventfd-semaphore:");
		if (said ? strtoul(value_of(info, "eventfd-semaphore:"), NULL, 10) : is_semaphore(fd, f->count))
			f->flags |= 1; /* EFD_SEMAPHORE */
	} else if (!strcmp(f->path, "anon_inode:[eventpoll]")) {
		f->kind = EPOLL;
		return look_at_epoll(info, (uint32_t)(f - kernel_look.opened));
	} else if (!strcmp(f->path, "anon_inode:[timerfd]")) {
		f->kind = TIMER;
		look_at_timer(fd, f);
	} else if (!strcmp(f->path, "anon_inode:[signalfd]")) {
		f->kind = SIGNALS;
		f->mask = strtoul(value_of(info, "sigmask:"), NULL, 16);
	} else if (!strncmp(f->path, "socket:", 7)) {
		return kernel_sockets_look(fd, f);
	} else {
		return kernel_files_cannot("its descriptor %d is %s", fd, f->path);
	}
	return NULL;
}

static const char *look_at_pipe(int fd, struct opened *f, const struct stat *st)
{
	f->kind = PIPE;
	f->read_end = (f->flags & O_ACCMODE) == O_RDONLY;
	f->count = (uint64_t)raw_syscall(SYS_fcntl, fd, F_GETPIPE_SZ, 0, 0, 0, 0);
	for (f->pipe = 0; f->pipe < kernel_look.npipes && kernel_look.pipe_ino[f->pipe] != st->st_ino;)
		f->pipe++;
	if (f->pipe == kernel_look.npipes) {
		kernel_look.pipe_ino[kernel_look.npipes] = st->st_ino;
		kernel_look.pipe_fd[kernel_look.npipes++] = -1;
	}
	if (f->read_end)
		kernel_look.pipe_fd[f->pipe] = fd;
	int there = 0;
	if (f->flags & O_DIRECT && (ioctl(fd, FIONREAD, &there) || there))
		return kernel_files_cannot("its descriptor %d is a pipe with packets in it (O_DIRECT)", fd);
	return NULL;
}

static const char *look_at_locks(int fd, const struct opened *f, const char *info)
{
	for (const char *at = info; (at = strstr(at, "lock:\t")); at++) {
		struct saved_lock *one = &kernel_look.locks[kernel_look.nlocks];
		if (kernel_look.nlocks == LOCKS_MOST)
			return "it has too many locks on files";
		if (!file_locks_read(at, one))
			return kernel_files_cannot("its descriptor %d has a lease on %s", fd, f->path);
		one->opened = (uint32_t)(f - kernel_look.opened);
		kernel_look.nlocks++;
	}
	return NULL;
}

/* null(4), random(4), full(4): such a device has no state. */
static bool is_plain_device(const char *path)
{
	static const char *const plain[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (!strcmp(path, plain[i]))
			return true;
	return false;
}

/* A file that has no name any more, or never had one: what is in it is kept, whoever opened it how. */
static const char *look_at_nameless(int fd, struct opened *f, const struct stat *st, long system)
{
	const bool memory = !strncmp(f->path, "/memfd:", 7);
	if (!S_ISREG(st->st_mode) || (memory && system != TMPFS_MAGIC))
		return kernel_files_cannot("its descriptor %d is a deleted or unnamed file: %s", fd, f->path);
	for (const struct opened *o = kernel_look.opened; o < f; o++)
		if (kernel_look.file[o - kernel_look.opened].st_ino == st->st_ino &&
		    kernel_look.file[o - kernel_look.opened].st_dev == st->st_dev)
			return kernel_files_cannot(
				"its descriptor %d is a deleted or unnamed file that it has opened twice: %s", fd,
				f->path);
	kernel_look.file[f - kernel_look.opened] = *st;
	f->count = (uint64_t)st->st_size;
	f->flags &= ~(unsigned)O_TMPFILE;
	f->kind = memory ? MEMORY : FILE_WRITTEN;
	f->again = st->st_mode & 07777;
	f->mask = memory ? (uint64_t)raw_syscall(SYS_fcntl, fd, F_GET_SEALS, 0, 0, 0, 0) : 0;
	if (!memory)
		*f->path = 0;
	return NULL;
}

/* open(2): flags as fdinfo has them, in octal, with O_LARGEFILE */
static const char *look_at_new(int fd, struct opened *f, const struct stat *st, const char *info)
{
	char link[64];
	struct statfs system;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, f->path, sizeof(f->path) - 1);
	f->path[n < 0 ? 0 : n] = 0;
	if (*f->path == '/')
		own_known_as(f->path);
	f->flags = (unsigned)strtoul(value_of(info, "flags:"), NULL, 8) & ~(unsigned)(O_CLOEXEC | 0100000);
	f->offset = strtoul(value_of(info, "pos:"), NULL, 10);
	f->dev = st->st_dev;
	f->ino = st->st_ino;
	file_numbers_known(&f->dev, &f->ino);
	const int standard = own_number_standard(fd, st);
	if (standard >= 0) {
		f->kind = STANDARD;
		f->copy = standard;
		return NULL;
	}
	if (S_ISFIFO(st->st_mode) && !strncmp(f->path, "pipe:", 5))
		return look_at_pipe(fd, f, st);
	if (f->path[0] != '/')
		return look_at_other(fd, f, info);
	if (fstatfs(fd, &system) == 0 && system.f_type == MQUEUE_MAGIC)
		return kernel_files_cannot("its descriptor %d is a message queue: %s", fd, f->path);
	if (S_ISFIFO(st->st_mode))
		return kernel_files_cannot("its descriptor %d is a FIFO (named pipe): %s", fd, f->path);
	if (!strncmp(f->path, "/proc/", 6) || (S_ISCHR(st->st_mode) && !is_plain_device(f->path)) ||
	    S_ISBLK(st->st_mode))
		return kernel_files_cannot("its descriptor %d is %s", fd, f->path);
	if (!st->st_nlink || !strncmp(f->path, "/memfd:", 7))
		return look_at_nameless(fd, f, st, system.f_type);
	f->kind = S_ISREG(st->st_mode) && (f->flags & O_ACCMODE) != O_RDONLY ? FILE_WRITTEN : FILE_READ;
	f->count = (uint64_t)st->st_size;
	kernel_look.file[f - kernel_look.opened] = *st;
	for (const struct opened *o = kernel_look.opened; o < f; o++) {
		const struct stat *other = &kernel_look.file[o - kernel_look.opened];
		if ((f->kind == FILE_WRITTEN || o->kind == FILE_WRITTEN) && strcmp(o->path, f->path) &&
		    *o->path == '/' && other->st_ino == st->st_ino && other->st_dev == st->st_dev)
			return kernel_files_cannot(
				"its descriptor %d is %s, which it has opened by another name, too, for writing", fd,
				f->path);
	}
	return NULL;
}

static const char *look_at(int fd)
{
	static char info[64 << 10];
	struct stat st;
	struct opened *f = kernel_look.opened;
	if (fstat(fd, &st))
		return NULL;
	for (; f < kernel_look.opened + kernel_look.nopened; f++)
		if (same_file(kernel_look.fd[f - kernel_look.opened], fd))
			break;
	const char *why = NULL;
	if (f == kernel_look.opened + kernel_look.nopened) {
		if (kernel_look.nopened == OPENED)
			return kernel_files_cannot("it has more than %d files open", OPENED);
		info_of(fd, info, sizeof(info));
		memset(f, 0, sizeof(*f));
		memset(&kernel_look.file[kernel_look.nopened], 0, sizeof(kernel_look.file[0]));
		kernel_look.fd[kernel_look.nopened++] = fd;
		why = look_at_new(fd, f, &st, info);
		if (!why && f->kind != STANDARD)
			why = look_at_locks(fd, f, info);
		struct f_owner_ex owner = {.pid = 0};
		if (!why && f->kind != STANDARD &&
		    raw_syscall(SYS_fcntl, fd, F_GETOWN_EX, (long)&owner, 0, 0, 0) == 0 && owner.pid)
			why = kernel_files_cannot("its descriptor %d sends signals (F_SETOWN)", fd);
	}
	f->refs++;
	kernel_look.number[kernel_look.nnumbers++] = (struct saved_number){
		.fd = (uint32_t)fd,
		.opened = (uint32_t)(f - kernel_look.opened),
		.cloexec = (uint32_t)(raw_syscall(SYS_fcntl, fd, F_GETFD, 0, 0, 0, 0) & FD_CLOEXEC),
	};
	return why;
}

/* poll(2): nobody has the other end of the pipe. */
static bool other_end_closed(int fd)
{
	struct pollfd p = {.fd = fd};
	return raw_syscall(SYS_poll, (long)&p, 1, 0, 0, 0, 0) == 1 && p.revents & (POLLHUP | POLLERR);
}

const char *kernel_files_look(void)
{
	const char *why = NULL;
	kernel_look.nopened = kernel_look.nwatched = kernel_look.npipes = kernel_look.nnumbers = kernel_look.nlocks = 0;
	kernel_sockets_begin();
	for (int fd = 0; fd < NUMBERS && fd < lower.lowest_fd && !why; fd++)
		if (own_number(fd) == OWN_JOINED)
			why = kernel_files_cannot("its descriptor %d is a socket that %s", fd,
						  "has joined a multicast group");
		else if (own_number(fd))
			why = look_at(fd);
	for (int fd = lower.lowest_fd; fd <= own_numbers_highest() && !why; fd++)
		if ((fd < NUMBERS ? own_number(fd) : !descriptor_is_ours(fd)) && fcntl(fd, F_GETFD) >= 0)
			why = kernel_files_cannot(
				"it has opened descriptor %d, and a checkpoint supports those below %d", fd,
				lower.lowest_fd);
	for (unsigned i = 0; i < kernel_look.nopened && !why; i++) {
		unsigned ends = 0;
		for (unsigned k = 0; k < kernel_look.nopened; k++)
			ends += kernel_look.opened[k].kind == PIPE &&
				kernel_look.opened[k].pipe == kernel_look.opened[i].pipe;
		if (kernel_look.opened[i].kind == PIPE && ends < 2 && !other_end_closed(kernel_look.fd[i]))
			why = kernel_files_cannot("its descriptor %d is %s", kernel_look.fd[i],
						  "a pipe whose other end it does not have");
	}
	return why ? why : kernel_sockets_looked();
}
