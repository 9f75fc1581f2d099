/* proc(5), /proc/pid/fd and /proc/pid/fdinfo: what an open file is, its flags and offset, what an epoll watches, when a
 * timer goes off.  kcmp(2) says which descriptors share one; tee(2) looks into a pipe. */
#include "restart/files/kernel_files.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/magic.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "restart/copies/own_files.h"
#include "restart/sockets/kernel_sockets.h"
#include "restart/files/file_locks.h"
#include "restart/files/open_files_saved.h"
#include "restart/base/open_table.h"
#include "answer/process.h"
#include "base/apart.h"
#include "base/copy_bytes.h"
#include "base/descriptors.h"
#include "base/private_file.h"
#include "base/user.h"
#include "task/thread.h"
#include "space/side_files.h"

#define A(i) (ev->args[i])

enum { MQUEUE_MAGIC = 0x19800202 /* ipc/mqueue.c */, JOINED = 2, LOCKS_MOST = 1024 };

static struct {
	uint8_t own[NUMBERS]; /* 0, 1 or JOINED */
	int64_t highest;      /* descriptor that the program has got */
	struct {
		dev_t dev;
		ino_t ino;
	} standard[3];
	struct opened opened[OPENED];
	unsigned nopened, nwatched, npipes;
	struct saved_number number[NUMBERS];
	unsigned nnumbers;
	struct saved_watch watched[WATCHED];
	int pipe_fd[OPENED]; /* a read end of each */
	ino_t pipe_ino[OPENED];
	int fd[OPENED]; /* one descriptor of each open file */
	struct stat file[OPENED];
	struct saved_lock locks[LOCKS_MOST];
	unsigned nlocks;
	char why[4300];
} look;

static void mine(int64_t fd, bool is)
{
	if (fd >= 0 && fd < NUMBERS)
		look.own[fd] = is;
	if (is && fd > look.highest)
		look.highest = fd;
}

/* A restarted program's descriptors are those that were made again for it. */
static bool restored(int fd)
{
	const struct opened *f = open_at((uint64_t)fd);
	return f && f->kind != LIBRARY;
}

void kernel_files_begin(void)
{
	struct stat st;
	for (int fd = 0; fd < lower.lowest_fd && fd < NUMBERS; fd++)
		/* a launcher's pipes and sockets, which it has left open, mean nothing to the program */
		mine(fd, lower.opt.from_image
				 ? restored(fd)
				 : fstat(fd, &st) == 0 && (fd < 3 || S_ISREG(st.st_mode)) && !descriptor_is_ours(fd));
	for (int fd = 0; fd < 3; fd++)
		if (fstat(fd, &st) == 0) {
			look.standard[fd].dev = st.st_dev;
			look.standard[fd].ino = st.st_ino;
		}
}

void kernel_files_closing(const struct event *ev)
{
	if (ev->nr == SYS_close)
		mine((int64_t)A(0), false);
	else if (ev->nr == SYS_close_range && !(A(2) & 4 /* CLOSE_RANGE_CLOEXEC */))
		for (uint64_t fd = A(0); fd <= A(1) && fd < NUMBERS; fd++)
			mine((int64_t)fd, false);
}

/* unix(7), SCM_RIGHTS */
static void received(const struct msghdr *m)
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(m);
	for (; c; c = CMSG_NXTHDR((struct msghdr *)m, (struct cmsghdr *)c))
		for (size_t at = CMSG_LEN(0); at + sizeof(int) <= c->cmsg_len; at += sizeof(int)) {
			int fd;
			memcpy(&fd, (const char *)c + at, sizeof(fd));
			if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
				mine(fd, true);
		}
}

/* ip(7), ipv6(7): the kernel does not tell which groups a socket has joined. */
static bool joins(const struct event *ev)
{
	const int name = (int)A(2);
	return (A(1) == IPPROTO_IP && (name == IP_ADD_MEMBERSHIP || name == IP_ADD_SOURCE_MEMBERSHIP ||
				       name == MCAST_JOIN_GROUP || name == MCAST_JOIN_SOURCE_GROUP)) ||
	       (A(1) == IPPROTO_IPV6 && (name == IPV6_JOIN_GROUP || name == IPV6_JOIN_ANYCAST ||
					 name == MCAST_JOIN_GROUP || name == MCAST_JOIN_SOURCE_GROUP));
}

void kernel_files_syscall(const struct event *ev)
{
	switch (ev->nr) {
	case SYS_open:
	case SYS_openat:
	case SYS_openat2:
	case SYS_creat:
	case SYS_dup:
	case SYS_dup2:
	case SYS_dup3:
	case SYS_socket:
	case SYS_accept:
	case SYS_accept4:
	case SYS_eventfd:
	case SYS_eventfd2:
	case SYS_epoll_create:
	case SYS_epoll_create1:
	case SYS_timerfd_create:
	case SYS_signalfd:
	case SYS_signalfd4:
	case SYS_inotify_init:
	case SYS_inotify_init1:
	case SYS_memfd_create:
	case SYS_mq_open:
	case SYS_fanotify_init:
	case SYS_userfaultfd:
	case SYS_memfd_secret:
	case SYS_bpf:
	case SYS_open_tree:
	case SYS_fsmount:
	case SYS_fspick:
	case SYS_fsopen:
	case SYS_open_by_handle_at:
	case SYS_pidfd_getfd:
	case SYS_pidfd_open:
	case SYS_perf_event_open: mine(ev->result, true); break;
	case SYS_fcntl:
		if (A(1) == F_DUPFD || A(1) == F_DUPFD_CLOEXEC)
			mine(ev->result, true);
		break;
	case SYS_ioctl:
		if ((unsigned)A(1) == TIOCGPTPEER)
			mine(ev->result, true);
		break;
	case SYS_setsockopt:
		if (joins(ev) && A(0) < NUMBERS)
			look.own[A(0)] = JOINED;
		break;
	case SYS_recvmsg: received((const void *)A(1)); break;
	case SYS_recvmmsg:
		for (int64_t i = 0; i < ev->result; i++)
			received(&((const struct mmsghdr *)A(1))[i].msg_hdr);
		break;
	case SYS_clone:
	case SYS_clone3: {
		const struct clone_request r = process_clone_request(ev);
		int fd;
		if (r.flags & CLONE_PIDFD && !user_read(&fd, r.pidfd, sizeof(fd)))
			mine(fd, true);
		break;
	}
	case SYS_pipe:
	case SYS_pipe2:
	case SYS_socketpair: {
		const int *ends = (const int *)A(ev->nr == SYS_socketpair ? 3 : 0);
		mine(ends[0], true);
		mine(ends[1], true);
		break;
	}
	}
}

__attribute__((format(printf, 1, 2))) static const char *cannot(const char *fmt, ...)
{
	va_list words;
	va_start(words, fmt);
	vsnprintf(look.why, sizeof(look.why), fmt, words);
	va_end(words);
	return look.why;
}

static size_t info_of(int fd, char *text, size_t room)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	int in = descriptor_open(AT_FDCWD, path, O_RDONLY, 0);
	ssize_t n, len = 0;
	while (in >= 0 && (n = read(in, text + len, room - 1 - (size_t)len)) > 0)
		len += n;
	if (in >= 0)
		close(in);
	text[len] = 0;
	return (size_t)len;
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

static bool is_standard(int fd, const struct stat *st)
{
	return fd < 3 && st->st_dev == look.standard[fd].dev && st->st_ino == look.standard[fd].ino;
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
			return cannot("its epoll watches descriptor %d, which it has closed, under another number", fd);
		if (look.nwatched == WATCHED)
			return "its epolls have too many descriptors";
		look.watched[look.nwatched++] = (struct saved_watch){
			.set = set, .fd = fd, .event = {.events = events, .data.u64 = data}};
	}
	return NULL;
}

static struct timespec time_of(const char *info, const char *name)
{
	long s = 0, ns = 0;
	sscanf(value_of(info, name), " (%ld, %ld)", &s, &ns);
	return (struct timespec){s, ns};
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
		return look_at_epoll(info, (uint32_t)(f - look.opened));
	} else if (!strcmp(f->path, "anon_inode:[timerfd]")) {
		f->kind = TIMER;
		f->clock = atoi(value_of(info, "clockid:"));
		f->timer.it_value = time_of(info, "it_value:");
		f->timer.it_interval = time_of(info, "it_interval:");
		f->mask = strtoul(value_of(info, "ticks:"), NULL, 10);
	} else if (!strcmp(f->path, "anon_inode:[signalfd]")) {
		f->kind = SIGNALS;
		f->mask = strtoul(value_of(info, "sigmask:"), NULL, 16);
	} else if (!strncmp(f->path, "socket:", 7)) {
		return kernel_sockets_look(fd, f);
	} else {
		return cannot("its descriptor %d is %s", fd, f->path);
	}
	return NULL;
}

static const char *look_at_pipe(int fd, struct opened *f, const struct stat *st)
{
	f->kind = PIPE;
	f->read_end = (f->flags & O_ACCMODE) == O_RDONLY;
	f->count = (uint64_t)raw_syscall(SYS_fcntl, fd, F_GETPIPE_SZ, 0, 0, 0, 0);
	for (f->pipe = 0; f->pipe < look.npipes && look.pipe_ino[f->pipe] != st->st_ino;)
		f->pipe++;
	if (f->pipe == look.npipes) {
		look.pipe_ino[look.npipes] = st->st_ino;
		look.pipe_fd[look.npipes++] = -1;
	}
	if (f->read_end)
		look.pipe_fd[f->pipe] = fd;
	int there = 0;
	if (f->flags & O_DIRECT && (ioctl(fd, FIONREAD, &there) || there))
		return cannot("its descriptor %d is a pipe with packets in it (O_DIRECT)", fd);
	return NULL;
}

static const char *look_at_locks(int fd, const struct opened *f, const char *info)
{
	for (const char *at = info; (at = strstr(at, "lock:\t")); at++) {
		struct saved_lock *one = &look.locks[look.nlocks];
		if (look.nlocks == LOCKS_MOST)
			return "it has too many locks on files";
		if (!file_locks_read(at, one))
			return cannot("its descriptor %d has a lease on %s", fd, f->path);
		one->opened = (uint32_t)(f - look.opened);
		look.nlocks++;
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
		return cannot("its descriptor %d is a deleted or unnamed file: %s", fd, f->path);
	for (const struct opened *o = look.opened; o < f; o++)
		if (look.file[o - look.opened].st_ino == st->st_ino && look.file[o - look.opened].st_dev == st->st_dev)
			return cannot("its descriptor %d is a deleted or unnamed file that it has opened twice: %s", fd,
				      f->path);
	look.file[f - look.opened] = *st;
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
	if (is_standard(fd, st)) {
		f->kind = STANDARD;
		f->copy = fd;
		return NULL;
	}
	if (S_ISFIFO(st->st_mode) && !strncmp(f->path, "pipe:", 5))
		return look_at_pipe(fd, f, st);
	if (f->path[0] != '/')
		return look_at_other(fd, f, info);
	if (fstatfs(fd, &system) == 0 && system.f_type == MQUEUE_MAGIC)
		return cannot("its descriptor %d is a message queue: %s", fd, f->path);
	if (S_ISFIFO(st->st_mode))
		return cannot("its descriptor %d is a FIFO (named pipe): %s", fd, f->path);
	if (!strncmp(f->path, "/proc/", 6) || (S_ISCHR(st->st_mode) && !is_plain_device(f->path)) ||
	    S_ISBLK(st->st_mode))
		return cannot("its descriptor %d is %s", fd, f->path);
	if (!st->st_nlink || !strncmp(f->path, "/memfd:", 7))
		return look_at_nameless(fd, f, st, system.f_type);
	f->kind = S_ISREG(st->st_mode) && (f->flags & O_ACCMODE) != O_RDONLY ? FILE_WRITTEN : FILE_READ;
	f->count = (uint64_t)st->st_size;
	look.file[f - look.opened] = *st;
	for (const struct opened *o = look.opened; o < f; o++) {
		const struct stat *other = &look.file[o - look.opened];
		if ((f->kind == FILE_WRITTEN || o->kind == FILE_WRITTEN) && strcmp(o->path, f->path) &&
		    *o->path == '/' && other->st_ino == st->st_ino && other->st_dev == st->st_dev)
			return cannot("its descriptor %d is %s, which it has opened by another name, too, for writing",
				      fd, f->path);
	}
	return NULL;
}

static const char *look_at(int fd)
{
	static char info[64 << 10];
	struct stat st;
	struct opened *f = look.opened;
	if (fstat(fd, &st))
		return NULL;
	for (; f < look.opened + look.nopened; f++)
		if (same_file(look.fd[f - look.opened], fd))
			break;
	const char *why = NULL;
	if (f == look.opened + look.nopened) {
		if (look.nopened == OPENED)
			return cannot("it has more than %d files open", OPENED);
		info_of(fd, info, sizeof(info));
		memset(f, 0, sizeof(*f));
		memset(&look.file[look.nopened], 0, sizeof(look.file[0]));
		look.fd[look.nopened++] = fd;
		why = look_at_new(fd, f, &st, info);
		if (!why && f->kind != STANDARD)
			why = look_at_locks(fd, f, info);
		struct f_owner_ex owner = {.pid = 0};
		if (!why && f->kind != STANDARD &&
		    raw_syscall(SYS_fcntl, fd, F_GETOWN_EX, (long)&owner, 0, 0, 0) == 0 && owner.pid)
			why = cannot("its descriptor %d sends signals (F_SETOWN)", fd);
	}
	f->refs++;
	look.number[look.nnumbers++] = (struct saved_number){
		.fd = (uint32_t)fd,
		.opened = (uint32_t)(f - look.opened),
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
	look.nopened = look.nwatched = look.npipes = look.nnumbers = look.nlocks = 0;
	kernel_sockets_begin();
	for (int fd = 0; fd < NUMBERS && fd < lower.lowest_fd && !why; fd++)
		if (look.own[fd] == JOINED)
			why = cannot("its descriptor %d is a socket that %s", fd, "has joined a multicast group");
		else if (look.own[fd])
			why = look_at(fd);
	for (int fd = lower.lowest_fd; fd <= look.highest && !why; fd++)
		if ((fd < NUMBERS ? look.own[fd] : !descriptor_is_ours(fd)) && fcntl(fd, F_GETFD) >= 0)
			why = cannot("it has opened descriptor %d, and a checkpoint supports those below %d", fd,
				     lower.lowest_fd);
	for (unsigned i = 0; i < look.nopened && !why; i++) {
		unsigned ends = 0;
		for (unsigned k = 0; k < look.nopened; k++)
			ends += look.opened[k].kind == PIPE && look.opened[k].pipe == look.opened[i].pipe;
		if (look.opened[i].kind == PIPE && ends < 2 && !other_end_closed(look.fd[i]))
			why = cannot("its descriptor %d is %s", look.fd[i], "a pipe whose other end it does not have");
	}
	return why ? why : kernel_sockets_looked();
}

/* ---- saving ---- */

/* The same file, opened before for writing, too: what is in it is kept once. */
static bool is_twin(const struct opened *f)
{
	for (const struct opened *o = look.opened; o < f; o++)
		if (o->kind == FILE_WRITTEN && *f->path && !strcmp(o->path, f->path))
			return true;
	return false;
}

static bool is_kept(const struct opened *f)
{
	return f->kind == MEMORY || (f->kind == FILE_WRITTEN && !is_twin(f));
}

const struct stat *kernel_files_nameless(unsigned *i)
{
	while (*i < look.nopened) {
		const struct opened *f = &look.opened[(*i)++];
		if (f->kind == MEMORY || (f->kind == FILE_WRITTEN && !*f->path))
			return &look.file[f - look.opened];
	}
	return NULL;
}

struct copying {
	int fd;
	bool closed; /* it could not be opened again */
	uint64_t bytes;
	const char *to;
};

static long copied(void *p)
{
	struct copying *c = p;
	char link[32];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", c->fd);
	const int from = descriptor_open(AT_FDCWD, link, O_RDONLY, 0);
	c->closed = from < 0;
	if (from < 0)
		return from;
	const int to = private_create(AT_FDCWD, c->to, O_RDWR | O_TRUNC);
	int64_t rc = to < 0 ? to : copy_bytes(from, to, c->bytes);
	if (rc >= 0)
		rc = (uint64_t)rc < c->bytes ? -EIO : 0;
	if (to >= 0)
		close(to);
	close(from);
	return rc;
}

static const char *save_written(const struct opened *f, unsigned number)
{
	char path[4096];
	if ((size_t)snprintf(path, sizeof(path), "%s/was-%u-%u", lower.opt.dir, number, (unsigned)(f - look.opened)) >=
	    sizeof(path))
		return "too long a path";
	struct copying c = {.fd = look.fd[f - look.opened], .bytes = f->count, .to = path};
	const long rc = apart(copied, &c);
	if (c.closed)
		return cannot("its descriptor %d: the file cannot be opened again: %s: %s", c.fd, f->path,
			      strerror((int)-rc));
	if (!rc)
		side_file_whole(path);
	return rc ? cannot("its descriptor %d cannot be copied: %s", look.fd[f - look.opened], strerror((int)-rc))
		  : NULL;
}

/* The content of a pipe stays there: tee(2) copies it into a pipe of ours. */
static const char *save_pipe(struct table *out, int fd)
{
	static uint8_t bytes[PIPE_ROOM];
	int ends[2];
	uint64_t len = 0;
	if (fd < 0)
		return table_add(out, &len, sizeof(len)) ? "no memory" : NULL;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return "no pipe can be made, which rdb needs to copy what is in another one";
	int there = 0;
	/* Over fs.pipe-user-pages-soft ours gets fewer pages (pipe(7)), and then not all of it. */
	fcntl(ends[1], F_SETPIPE_SZ, PIPE_ROOM);
	ssize_t n = tee(fd, ends[1], PIPE_ROOM, SPLICE_F_NONBLOCK);
	while (n > 0 && (n = read(ends[0], bytes + len, sizeof(bytes) - len)) > 0)
		len += (uint64_t)n;
	close(ends[0]);
	close(ends[1]);
	if (ioctl(fd, FIONREAD, &there) || (uint64_t)there != len)
		return cannot("what is in its descriptor %d cannot be copied: %s", fd,
			      "rdb cannot make a pipe of that size");
	return table_add(out, &len, sizeof(len)) || table_add(out, bytes, len) ? "no memory" : NULL;
}

int kernel_files_list(const char *path)
{
	const int fd = private_create(AT_FDCWD, path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	int rc = fd < 0 ? fd : 0;
	for (const struct opened *f = look.opened; !rc && f < look.opened + look.nopened; f++)
		if (f->kind == FILE_WRITTEN && is_kept(f) && *f->path && !strchr(f->path, '\n') &&
		    dprintf(fd, "%u %lu %o %s\n", (unsigned)(f - look.opened), (unsigned long)f->count,
			    (unsigned)look.file[f - look.opened].st_mode & 07777, f->path) < 0)
			rc = -errno;
	if (fd >= 0 && close(fd) && !rc)
		rc = -errno;
	return rc;
}

const char *kernel_files_save(struct table *out, unsigned number)
{
	static struct saved head;
	const char *why = NULL;
	int rc;
	head = (struct saved){.magic = SAVED_MAGIC,
			      .nopened = look.nopened,
			      .nnumbers = look.nnumbers,
			      .nwatched = look.nwatched,
			      .npipes = look.npipes,
			      .nlocks = look.nlocks,
			      .size = sizeof(struct opened)};
	head.mask = (uint32_t)raw_syscall(SYS_umask, 0, 0, 0, 0, 0, 0);
	raw_syscall(SYS_umask, (long)head.mask, 0, 0, 0, 0, 0);
	if (raw_syscall(SYS_getcwd, (long)head.cwd, sizeof(head.cwd), 0, 0, 0, 0) < 0)
		return "its working directory is gone";
	for (unsigned i = 0; i < look.nopened && !why; i++)
		if (is_kept(&look.opened[i]))
			why = save_written(&look.opened[i], number);
	if (why)
		return why;
	rc = table_add(out, &head, sizeof(head));
	if (!rc)
		rc = table_add(out, look.opened, look.nopened * sizeof(struct opened));
	if (!rc)
		rc = table_add(out, look.number, look.nnumbers * sizeof(struct saved_number));
	if (!rc)
		rc = table_add(out, look.watched, look.nwatched * sizeof(struct saved_watch));
	if (!rc)
		rc = table_add(out, look.locks, look.nlocks * sizeof(struct saved_lock));
	for (unsigned i = 0; i < look.npipes && !rc && !why; i++)
		why = save_pipe(out, look.pipe_fd[i]);
	return rc ? "no memory" : why ? why : kernel_sockets_save(out);
}
