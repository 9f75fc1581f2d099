#include "base/pids.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
	struct pids *all;
	const char *path;
} own;

int pids_open(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || (size_t)st.st_size < sizeof(*own.all)) {
		close(fd);
		return -EBADMSG;
	}
	void *p = mmap(NULL, sizeof(*own.all), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return -errno;
	own.all = p;
	own.path = path;
	return own.all->n > PIDS ? -EBADMSG : 0;
}

struct pids *pids(void)
{
	return own.all;
}

const char *pids_path(void)
{
	return own.path;
}

uint64_t pid_now(uint64_t known)
{
	const int32_t pid = (int32_t)known, number = pid < 0 ? -pid : pid;
	for (uint32_t i = 0; own.all && pid && i < own.all->n; i++)
		if (own.all->list[i].known == number && own.all->list[i].now)
			return (uint64_t)(int64_t)(pid < 0 ? -own.all->list[i].now : own.all->list[i].now);
	for (uint32_t i = 0; own.all && pid && i < own.all->nalso && i < PIDS_ALSO; i++)
		if (own.all->also[i].known == number)
			return (uint64_t)(int64_t)(pid < 0 ? -own.all->also[i].now : own.all->also[i].now);
	return known;
}

void pids_also(int32_t known, int32_t now)
{
	const uint32_t i = own.all ? __atomic_fetch_add(&own.all->nalso, 1, __ATOMIC_SEQ_CST) : PIDS_ALSO;
	if (i >= PIDS_ALSO)
		return;
	own.all->also[i].now = now;
	own.all->also[i].known = known;
}

int32_t pid_known(int32_t now)
{
	for (uint32_t i = 0; own.all && now > 0 && i < own.all->n; i++)
		if (own.all->list[i].now == now)
			return own.all->list[i].known;
	return now;
}

void pids_in(uint64_t nr, uint64_t a[6])
{
	if (!own.all)
		return;
	switch (nr) {
	case SYS_setpgid: a[1] = pid_now(a[1]); /* fall through */
	case SYS_kill:
	case SYS_wait4:
	case SYS_getpgid:
	case SYS_getsid:
	case SYS_prlimit64:
	case SYS_pidfd_open:
	case SYS_process_vm_readv:
	case SYS_process_vm_writev:
	case SYS_migrate_pages:
	case SYS_move_pages:
	case SYS_rt_sigqueueinfo: a[0] = pid_now(a[0]); break;
	case SYS_kcmp:
		a[0] = pid_now(a[0]);
		a[1] = pid_now(a[1]);
		break;
	case SYS_fcntl:
		if (a[1] == F_SETOWN)
			a[2] = pid_now(a[2]);
		break;
	case SYS_ioprio_get:
	case SYS_ioprio_set: /* ioprio_set(2): 1 a thread, 2 a group of processes */
		if (a[0] == 1 || a[0] == 2)
			a[1] = pid_now(a[1]);
		break;
	case SYS_getpriority:
	case SYS_setpriority:
		if (a[0] == PRIO_PGRP)
			a[1] = pid_now(a[1]);
		break;
	case SYS_waitid:
		if (a[0] == P_PID || a[0] == P_PGID)
			a[1] = pid_now(a[1]);
		break;
	}
}

int64_t pids_out(uint64_t nr, const uint64_t args[6], int64_t result)
{
	if (!own.all || result < 0)
		return result;
	switch (nr) {
	case SYS_getpid:
	case SYS_getppid:
	case SYS_getpgrp:
	case SYS_getpgid:
	case SYS_getsid:
	case SYS_wait4: return pid_known((int32_t)result);
	case SYS_fcntl: {
		struct f_owner_ex *owner = (struct f_owner_ex *)args[2];
		if (args[1] == F_GETOWN_EX)
			owner->pid = pid_known(owner->pid);
		return args[1] == F_GETOWN ? pid_known((int32_t)result) : result;
	}
	case SYS_waitid: {
		siginfo_t *info = (siginfo_t *)args[2];
		if (info && info->si_pid)
			info->si_pid = pid_known(info->si_pid);
		return result;
	}
	default: return result;
	}
}

void pids_signal(siginfo_t *info)
{
	if (own.all && (info->si_signo == SIGCHLD || (info->si_code <= 0 && info->si_code != SI_TIMER)))
		info->si_pid = pid_known(info->si_pid);
}
