#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/descriptor_table.h"
#include "base/descriptors.h"

enum {
	HIGHEST = 4096, /* a descriptor's number costs memory in the kernel, and time in fork */
	ROOM = 64,
	HIGH = 700,
	OURS = 4096, /* a job of many processes has one for each on the software HCA */
};

/* Descriptors that lower_fd() moved. Device and inode tell whether such a number is still ours: it may have been closed
 * since, and given to the program. */
static struct {
	struct own {
		int fd;
		dev_t dev;
		ino_t ino;
	} own[OURS];
	unsigned n;
} ours;

/* Descriptors in reserve: one is closed to free its number when the program has used up all others and the limit cannot
 * be raised.  A child that begins its own recording needs several at once. */
static struct {
	int fd[8];
	unsigned n, most;
} spare = {.most = 1};
bool descriptors_spent;

static long limit(const struct rlimit *set, struct rlimit *get)
{
	return raw_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, (long)set, (long)get, 0, 0);
}

/* The kernel checks the limit only when a descriptor is made, so ours are made under a raised one. */
static bool room_begin(struct rlimit *before)
{
	struct rlimit rl;
	if (limit(NULL, before))
		return false;
	rlim_t want = (before->rlim_cur > (rlim_t)lower.lowest_fd ? before->rlim_cur : (rlim_t)lower.lowest_fd) + ROOM;
	rl = (struct rlimit){.rlim_cur = want, .rlim_max = before->rlim_max > want ? before->rlim_max : want};
	return limit(&rl, NULL) == 0;
}

static void room_end(const struct rlimit *before)
{
	limit(before, NULL);
}

static int open_raw(int dirfd, const char *path, int flags, mode_t mode)
{
	return (int)raw_syscall(SYS_openat, dirfd, (long)path, flags | O_CLOEXEC, mode, 0, 0);
}

static void have_spare(void)
{
	while (spare.n < spare.most) {
		int fd = open_raw(AT_FDCWD, "/dev/null", O_PATH, 0);
		if (fd < 0 || (fd = lower_fd(fd)) < 0)
			break;
		spare.fd[spare.n++] = fd;
	}
}

static bool use_spare(void)
{
	if (!spare.n)
		return false;
	lower_fd_close(spare.fd[--spare.n]);
	descriptors_spent = true;
	return true;
}

void descriptors_refill(void)
{
	have_spare();
	descriptors_spent = spare.n < spare.most;
}

void descriptors_init(void)
{
	struct rlimit rl, before;
	lower.lowest_fd = 800;
	if (limit(NULL, &rl))
		return;
	lower.lowest_fd = rl.rlim_cur < HIGHEST ? (int)rl.rlim_cur : HIGHEST;
	if (rl.rlim_cur < HIGHEST + ROOM) {
		if (room_begin(&before))
			room_end(&before);
		else /* the hard limit is no higher, and we may not raise it */
			lower.lowest_fd = (int)rl.rlim_cur / 4 * 3;
	}
	spare.most = ((unsigned)rl.rlim_cur - (unsigned)lower.lowest_fd) / 4; /* most numbers are the program's */
	spare.most = spare.most < 1 ? 1 : spare.most > 8 ? 8 : spare.most;
	descriptor_table_begin();
	have_spare();
}

static int moved(int fd)
{
	return (int)raw_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lower.lowest_fd, 0, 0, 0);
}

int lower_fd(int fd)
{
	struct rlimit before;
	struct stat st;
	if (fd < 0)
		return fd;
	int high = fd >= lower.lowest_fd ? fd : moved(fd);
	if (high == fd)
		raw_syscall(SYS_fcntl, fd, F_SETFD, FD_CLOEXEC, 0, 0, 0);
	if (high < 0 && room_begin(&before)) {
		high = moved(fd);
		room_end(&before);
	}
	if (high < 0 && limit(NULL, &before) == 0 && (int)before.rlim_cur <= lower.lowest_fd) {
		/* the program has lowered its limits */
		lower.lowest_fd = (int)before.rlim_cur / 4 * 3;
		high = moved(fd);
	}
	if (high < 0 && use_spare())
		high = moved(fd);
	if (high != fd)
		close(fd);
	if (high < 0 || fstat(high, &st))
		return high;
	unsigned i = 0;
	while (i < ours.n && ours.own[i].fd != high)
		i++;
	if (i == OURS) {
		close(high);
		return -EMFILE;
	}
	if (i == ours.n)
		ours.n++;
	ours.own[i] = (struct own){.fd = high, .dev = st.st_dev, .ino = st.st_ino};
	return high;
}

void lower_fd_close(int fd)
{
	for (unsigned i = 0; i < ours.n; i++)
		if (ours.own[i].fd == fd)
			ours.own[i] = ours.own[--ours.n];
	close(fd);
}

int descriptor_open(int dirfd, const char *path, int flags, mode_t mode)
{
	struct rlimit before;
	have_spare();
	int fd = open_raw(dirfd, path, flags, mode);
	if (fd == -EMFILE && room_begin(&before)) {
		fd = open_raw(dirfd, path, flags, mode);
		room_end(&before);
	}
	if (fd == -EMFILE && use_spare())
		fd = open_raw(dirfd, path, flags, mode);
	return fd;
}

ssize_t descriptor_text(const char *path, char *text, size_t room)
{
	const int fd = descriptor_open(AT_FDCWD, path, O_RDONLY, 0);
	size_t len = 0;
	ssize_t n = fd;
	while (fd >= 0 && (n = read(fd, text + len, room - 1 - len)) > 0)
		len += (size_t)n;
	if (fd >= 0) {
		n = n < 0 ? -errno : (ssize_t)len;
		close(fd);
	}
	text[n < 0 ? 0 : len] = 0;
	return n;
}

int descriptor_high(int fd)
{
	const long high = raw_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, HIGH, 0, 0, 0);
	if (high < 0)
		return fd;
	raw_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
	return (int)high;
}

int descriptors_reserve(void)
{
	struct rlimit before;
	int null = descriptor_open(AT_FDCWD, "/dev/null", O_RDWR, 0);
	if (null < 0)
		return null;
	for (int fd = 3; fd < lower.lowest_fd; fd++)
		if (raw_syscall(SYS_fcntl, fd, F_GETFD, 0, 0, 0, 0) < 0)
			raw_syscall(SYS_dup3, null, fd, O_CLOEXEC, 0, 0, 0);
	/* the limit stays raised: a library may open descriptors at any time */
	if (!limit(NULL, &before) && before.rlim_cur < (rlim_t)lower.lowest_fd + 1024) {
		struct rlimit more = before;
		more.rlim_cur = (rlim_t)lower.lowest_fd + 1024;
		if (more.rlim_cur > more.rlim_max)
			more.rlim_cur = more.rlim_max;
		limit(&more, NULL);
	}
	return 0;
}

bool descriptor_is_ours(int fd)
{
	struct stat st;
	for (unsigned i = 0; i < ours.n; i++)
		if (ours.own[i].fd == fd)
			return fstat(fd, &st) == 0 && st.st_dev == ours.own[i].dev && st.st_ino == ours.own[i].ino;
	return false;
}

int descriptors_highest(int last)
{
	enum { BATCH = 64 };
	struct pollfd asked[BATCH];
	if (last < lower.lowest_fd && raw_syscall(SYS_fcntl, last, F_GETFD, 0, 0, 0, 0) >= 0)
		return last;
	for (int from = (lower.lowest_fd - 1) / BATCH * BATCH; from >= 0; from -= BATCH) {
		for (int i = 0; i < BATCH; i++)
			asked[i] = (struct pollfd){.fd = from + i < lower.lowest_fd ? from + i : -1};
		if (raw_syscall(SYS_poll, (long)asked, BATCH, 0, 0, 0, 0) < 0)
			return last;
		for (int i = BATCH - 1; i >= 0; i--)
			if (asked[i].fd >= 0 && asked[i].revents != POLLNVAL)
				return from + i + BATCH < lower.lowest_fd ? from + i : last;
	}
	return -1;
}

long descriptors_close_range(unsigned first, unsigned last, unsigned flags)
{
	while (first <= last) {
		unsigned until = last, next = last;
		for (unsigned i = 0; i < ours.n; i++) {
			unsigned fd = (unsigned)ours.own[i].fd;
			if (fd >= first && fd <= until && descriptor_is_ours((int)fd)) {
				next = fd;
				until = fd - 1;
			}
		}
		long rc = until >= first ? raw_syscall(SYS_close_range, first, until, flags, 0, 0, 0) : 0;
		if (rc || next == last)
			return rc;
		first = next + 1;
	}
	return 0;
}
