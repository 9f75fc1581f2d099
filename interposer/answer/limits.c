#include "answer/limits.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/lower.h"
#include "base/user.h"

enum { KINDS = 3 };
static const unsigned kinds[KINDS] = {RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE};

/* More than there are addresses and than a file can have bytes, and less than the values that programs set in place of RLIM_INFINITY. */
static const uint64_t LIMIT_APART = 1ul << 56;

static bool is_ours(uint64_t which)
{
	for (unsigned i = 0; i < KINDS; i++)
		if (kinds[i] == which)
			return true;
	return false;
}

static uint64_t apart(uint64_t value)
{
	return value < LIMIT_APART ? value + LIMIT_APART : value;
}

uint64_t limits_known(uint64_t value)
{
	return value >= LIMIT_APART && value < 2 * LIMIT_APART ? value - LIMIT_APART : value;
}

static long kernel(long pid, unsigned which, const struct rlimit *set, struct rlimit *get)
{
	return raw_syscall(SYS_prlimit64, pid, which, (long)set, (long)get, 0, 0);
}

/* Are these limits set apart?  A hard limit that the kernel has cannot be raised. */
static bool are_apart(const struct rlimit *of_kernel)
{
	return of_kernel->rlim_max >= LIMIT_APART;
}

void limits_begin(void)
{
	struct rlimit now;
	for (unsigned i = 0; i < KINDS; i++)
		if (!kernel(0, kinds[i], NULL, &now)) {
			const struct rlimit more = {apart(now.rlim_cur), apart(now.rlim_max)};
			kernel(0, kinds[i], &more, NULL); /* else see limits.h */
		}
}

void limits_leave(void)
{
	struct rlimit now;
	for (unsigned i = 0; i < KINDS; i++)
		if (!kernel(0, kinds[i], NULL, &now)) {
			now.rlim_cur = limits_known(now.rlim_cur);
			now.rlim_max = limits_known(now.rlim_max);
			kernel(0, kinds[i], &now, NULL);
		}
}

/* Is that process under rdb, too? */
static bool is_counted(long pid)
{
	char path[32];
	struct stat own, its;
	if (!pid || pid == lower.pid)
		return true;
	snprintf(path, sizeof(path), "/proc/%ld/exe", pid);
	return !stat("/proc/self/exe", &own) && !stat(path, &its) && own.st_dev == its.st_dev &&
	       own.st_ino == its.st_ino;
}

static long set_apart(long pid, unsigned which, const struct rlimit *to, struct rlimit *had)
{
	struct rlimit more;
	const long rc = kernel(pid, which, NULL, had);
	if (rc || !to)
		return rc;
	more = *to;
	if (are_apart(had) && is_counted(pid)) {
		more.rlim_cur = apart(more.rlim_cur);
		more.rlim_max = apart(more.rlim_max);
	}
	return kernel(pid, which, &more, NULL);
}

long limits_set(unsigned which, const struct rlimit *to)
{
	struct rlimit had;
	return is_ours(which) ? set_apart(0, which, to, &had) : kernel(0, which, to, NULL);
}

bool limits_call(uint64_t nr, const uint64_t a[6], long *result)
{
	const bool of_process = nr == SYS_prlimit64;
	const uint64_t which = (unsigned)a[of_process];
	const uint64_t new = nr == SYS_getrlimit ? 0 : a[1 + of_process];
	const uint64_t old = nr == SYS_setrlimit ? 0 : a[nr == SYS_getrlimit ? 1 : 3];
	struct rlimit to, had;
	if (!is_ours(which))
		return false;
	if ((new || nr == SYS_setrlimit) && user_read(&to, new, sizeof(to))) {
		*result = -EFAULT;
		return true;
	}
	*result = set_apart(of_process ? (int)a[0] : 0, (unsigned)which, new ? &to : NULL, &had);
	had.rlim_cur = limits_known(had.rlim_cur);
	had.rlim_max = limits_known(had.rlim_max);
	if (!*result && (old || nr == SYS_getrlimit) && user_write(old, &had, sizeof(had)))
		*result = -EFAULT;
	return true;
}

uint64_t limits_own(unsigned which, struct rlimit *l)
{
	const uint64_t none = RLIM_INFINITY;
	if (kernel(0, which, NULL, l) || !are_apart(l))
		return none;
	l->rlim_max = limits_known(l->rlim_max);
	return l->rlim_cur == limits_known(l->rlim_cur) ? none : limits_known(l->rlim_cur);
}
