#include "answer/file_limit.h"
#include <sys/stat.h>
#include <sys/syscall.h>
#include "answer/limits.h"
#include "base/lower.h"
#include "task/blocking.h"

/* The descriptor of the file that this call may make longer; -1: it has a path; -2: it makes none longer. */
static int grown(long nr, const uint64_t a[6])
{
	switch (nr) {
	case SYS_write:
	case SYS_writev:
	case SYS_pwrite64:
	case SYS_pwritev:
	case SYS_pwritev2:
	case SYS_ftruncate:
	case SYS_fallocate:
	case SYS_sendfile: return (int)a[0];
	case SYS_splice:
	case SYS_copy_file_range: return (int)a[2];
	case SYS_truncate: return -1;
	default: return -2;
	}
}

static bool is_file(int fd)
{
	struct stat st;
	return fd == -1 || (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode));
}

static void set(uint64_t most)
{
	struct rlimit l;
	raw_syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&l, 0, 0);
	l.rlim_cur = most;
	raw_syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, (long)&l, 0, 0, 0);
}

long file_limit_call(long nr, const uint64_t a[6])
{
	struct rlimit l;
	const int fd = grown(nr, a);
	if (fd < -1 || limits_own(RLIMIT_FSIZE, &l) == RLIM_INFINITY || !is_file(fd))
		return blocking_syscall(nr, a);
	set(limits_known(l.rlim_cur));
	const long rc = blocking_syscall(nr, a);
	set(l.rlim_cur);
	return rc;
}
