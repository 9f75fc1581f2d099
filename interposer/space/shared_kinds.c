#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <linux/magic.h>
#include "space/shared_kinds.h"

int shared_kind_of(int fd)
{
	struct stat st, shm;
	struct statfs fs;
	if (fstat(fd, &st) || fstatfs(fd, &fs))
		return SHARED_FILE;
	if (!st.st_nlink)
		return SHARED_NAMELESS;
	/* files of shm_open(3); other tmpfs files, such as those in /tmp, are ordinary */
	if (fs.f_type == TMPFS_MAGIC)
		return !stat("/dev/shm", &shm) && shm.st_dev == st.st_dev ? SHARED_NAMED : SHARED_FILE;
	return fs.f_type == HUGETLBFS_MAGIC ? SHARED_NAMED : SHARED_FILE;
}

bool shared_volatile(int fd)
{
	return shared_kind_of(fd) != SHARED_FILE ||
	       (raw_syscall(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0) & O_ACCMODE) == O_RDWR;
}

bool shared_call_cuts(const struct event *ev, struct cut_file *file)
{
	const uint64_t *a = ev->args;
	if (ev->kind != LOG_SYSCALL)
		return false;
	*file = (struct cut_file){.dir = AT_FDCWD, .path = (const char *)a[0]};
	switch (ev->nr) {
	case SYS_truncate:
	case SYS_creat: return true;
	case SYS_open: return a[1] & O_TRUNC;
	case SYS_openat:
	case SYS_openat2:
		*file = (struct cut_file){.dir = (int)a[0], .path = (const char *)a[1]};
		return ev->nr == SYS_openat2 /* whatever its flags */ || a[2] & O_TRUNC;
	case SYS_ftruncate:
	case SYS_fallocate:
		*file = (struct cut_file){.dir = (int)a[0]};
		return ev->nr == SYS_ftruncate || a[1] & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE);
	default: return false;
	}
}

bool shared_call_drops_pages(const struct event *ev, uint64_t start, uint64_t end)
{
	struct cut_file file;
	if (ev->kind != LOG_SYSCALL || ev->result < 0)
		return false;
	if (ev->nr == SYS_madvise)
		return (ev->args[2] == MADV_DONTNEED || ev->args[2] == 24 /* MADV_DONTNEED_LOCKED */) &&
		       ev->args[0] < end && start < ev->args[0] + ev->args[1];
	return shared_call_cuts(ev, &file);
}

/* Index of the argument that is the descriptor of the file written to; -1: none. */
static int written_by(uint32_t nr)
{
	switch (nr) {
	case SYS_write:
	case SYS_writev:
	case SYS_pwrite64:
	case SYS_pwritev:
	case SYS_pwritev2:
	case SYS_ftruncate:
	case SYS_fallocate:
	case SYS_sendfile:
	case SYS_ioctl: return 0; /* FICLONE */
	case SYS_splice:
	case SYS_copy_file_range: return 2;
	default: return -1;
	}
}

static bool writes_files(const struct event *ev)
{
	struct cut_file file;
	const bool removes = ev->nr == SYS_madvise; /* MADV_REMOVE */
	return written_by(ev->nr) >= 0 || removes || ev->nr == SYS_msync || shared_call_cuts(ev, &file);
}

int shared_call_writes_to(const struct event *ev)
{
	const int which = ev->kind == LOG_SYSCALL ? written_by(ev->nr) : -1;
	return which >= 0 ? (int)ev->args[which] : -1;
}

int shared_call_wrote(const struct event *ev)
{
	struct cut_file file;
	if (ev->kind != LOG_SYSCALL || ev->result < 0)
		return -1;
	const int fd = shared_call_writes_to(ev);
	if (fd >= 0)
		return fd;
	/* the remaining calls open the file that they cut */
	return ev->nr != SYS_truncate && shared_call_cuts(ev, &file) ? (int)ev->result : -1;
}

struct file_part shared_call_part(const struct event *ev, int descriptor)
{
	/* pwrite(2), BUGS: with O_APPEND it writes to the end */
	const uint64_t from = ev->args[3];
	const long flags = ev->nr == SYS_pwrite64 ? raw_syscall(SYS_fcntl, descriptor, F_GETFL, 0, 0, 0, 0) : -1;
	if (flags < 0 || flags & O_APPEND || from > INT64_MAX || ev->args[2] > INT64_MAX)
		return (struct file_part){0, UINT64_MAX};
	return (struct file_part){from, from + ev->args[2]};
}

bool shared_call_changes_map(const struct event *ev)
{
	if (ev->kind != LOG_SYSCALL)
		return false;
	switch (ev->nr) {
	case SYS_mmap:
	case SYS_munmap:
	case SYS_mremap:
	case SYS_mprotect:
	case SYS_pkey_mprotect:
	case SYS_brk:
	case SYS_shmat:
	case SYS_shmdt: return true;
	default: return false;
	}
}

/* Calls that neither wait nor receive anything from other processes. */
static bool keeps_to_itself(uint32_t nr)
{
	switch (nr) {
	case SYS_clock_gettime:
	case SYS_gettimeofday:
	case SYS_time:
	case SYS_getpid:
	case SYS_gettid:
	case SYS_getrandom:
	case SYS_rt_sigprocmask:
	case SYS_rt_sigaction:
	case SYS_sigaltstack:
	case SYS_stat:
	case SYS_fstat:
	case SYS_newfstatat:
	case SYS_lseek: return true;
	default: return false;
	}
}

bool shared_call_synchronises(const struct event *ev, bool contested)
{
	if (ev->kind != LOG_SYSCALL)
		return contested && ev->kind != LOG_TSC;
	return contested ? !keeps_to_itself(ev->nr) : writes_files(ev);
}

/* A file with a name can be opened without the descriptor. */
static bool is_nameless(int fd)
{
	struct stat st;
	return fstat(fd, &st) || (S_ISREG(st.st_mode) && !st.st_nlink);
}

static bool passes_nameless(const struct msghdr *message)
{
	struct msghdr m = *message;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (const unsigned char *at = CMSG_DATA(c); at < (const unsigned char *)c + c->cmsg_len;
		     at += sizeof(int)) {
			int fd;
			memcpy(&fd, at, sizeof(fd));
			if (is_nameless(fd))
				return true;
		}
	}
	return false;
}

bool shared_call_gives_away(const struct event *ev)
{
	if (ev->kind != LOG_SYSCALL || ev->result < 0)
		return false;
	const struct mmsghdr *several = (const void *)ev->args[1];
	switch (ev->nr) {
	case SYS_pidfd_getfd: return is_nameless((int)ev->result);
	case SYS_sendmsg:
	case SYS_recvmsg: return passes_nameless((const struct msghdr *)ev->args[1]);
	case SYS_sendmmsg:
	case SYS_recvmmsg:
		for (int64_t i = 0; i < ev->result; i++)
			if (passes_nameless(&several[i].msg_hdr))
				return true;
		return false;
	default: return false;
	}
}
