#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/descriptors.h"

enum {
	HIGHEST = 4096, /* a descriptor's number costs memory in the kernel, and time in fork */
	ROOM = 64,
	OURS = 64,
};

/* Those that lower_fd() moved.  One that is closed since, and whose number the program has got, is told
 * by what it is. */
static struct {
	struct own {
		int fd;
		dev_t dev;
		ino_t ino;
	} own[OURS];
	unsigned n;
} ours;

static long limit(const struct rlimit *set, struct rlimit *get)
{
	return raw_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, (long)set, (long)get, 0, 0);
}

/* The limit counts when a descriptor is made, not afterwards: ours are made under a higher one. */
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

void descriptors_init(void)
{
	struct rlimit rl, before;
	lower.lowest_fd = 800;
	if (limit(NULL, &rl))
		return;
	lower.lowest_fd = rl.rlim_cur < HIGHEST ? (int)rl.rlim_cur : HIGHEST;
	if (rl.rlim_cur >= HIGHEST + ROOM)
		return;
	if (room_begin(&before))
		room_end(&before);
	else /* the hard limit is no higher, and we may not raise it */
		lower.lowest_fd = (int)rl.rlim_cur / 4 * 3;
}

static int moved(int fd)
{
	return (int)raw_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lower.lowest_fd, 0, 0, 0);
}

int lower_fd(int fd)
{
	struct rlimit before;
	struct stat st;
	int high = moved(fd);
	if (high < 0 && room_begin(&before)) {
		high = moved(fd);
		room_end(&before);
	}
	if (high < 0 && limit(NULL, &before) == 0 && (int)before.rlim_cur <= lower.lowest_fd) {
		/* the program has lowered its limits */
		lower.lowest_fd = (int)before.rlim_cur / 4 * 3;
		high = moved(fd);
	}
	close(fd);
	if (high < 0 || fstat(high, &st))
		return high;
	unsigned i = 0;
	while (i < ours.n && ours.own[i].fd != high)
		i++;
	if (i == OURS)
		i = 0;
	else if (i == ours.n)
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
	long fd = raw_syscall(SYS_openat, dirfd, (long)path, flags | O_CLOEXEC, mode, 0, 0);
	if (fd == -EMFILE && room_begin(&before)) {
		fd = raw_syscall(SYS_openat, dirfd, (long)path, flags | O_CLOEXEC, mode, 0, 0);
		room_end(&before);
	}
	return (int)fd;
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
	/* it stays raised: a library opens what it needs when it likes */
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
