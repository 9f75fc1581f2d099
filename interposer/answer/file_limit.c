#include "answer/file_limit.h"
#include <sys/stat.h>
#include <sys/syscall.h>
#include "answer/limits.h"
#include "base/lower.h"
#include "space/shared_kinds.h"
#include "task/blocking.h"

static bool may_grow_a_file(const struct event *ev)
{
	struct stat st;
	const int fd = shared_call_writes_to(ev);
	return ev->nr == SYS_truncate || (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode));
}

static void set(uint64_t most)
{
	struct rlimit l;
	raw_syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&l, 0, 0);
	l.rlim_cur = most;
	raw_syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, (long)&l, 0, 0, 0);
}

long file_limit_call(const struct event *ev, const uint64_t args[6])
{
	struct rlimit l;
	if (limits_own(RLIMIT_FSIZE, &l) == RLIM_INFINITY || !may_grow_a_file(ev))
		return blocking_syscall((long)ev->nr, args);
	set(limits_known(l.rlim_cur));
	const long rc = blocking_syscall((long)ev->nr, args);
	set(l.rlim_cur);
	return rc;
}
