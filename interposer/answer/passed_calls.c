#include "answer/passed_calls.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/syscall.h>
#include "answer/ioctls.h"
#include "answer/memory_calls.h"
#include "answer/limits.h"
#include "answer/other_names.h"
#include "answer/prctl_calls.h"
#include "answer/proc_files.h"
#include "answer/process.h"
#include "answer/redirect.h"
#include "answer/seccomp_calls.h"
#include "answer/syscall_outputs.h"
#include "base/apart.h"
#include "base/descriptors.h"
#include "base/user.h"
#include "task/blocking.h"
#include "task/queued_to.h"
#include "task/signal_queue.h"
#include "task/signals.h"
#include "task/thread.h"
#include "task/timer_calls.h"

/* ---- processes and threads ---- */

static bool forks(struct passed *p, long *made)
{
	*made = process_fork(p->ev, p->uc, p->in_child);
	return true;
}

static bool executes(struct passed *p, long *made)
{
	*made = process_exec(p->ev, p->a);
	return true;
}

static bool asks_tid(struct passed *p, long *made)
{
	(void)p;
	*made = thread_self()->upper.tid;
	return true;
}

static bool asks_robust_list(struct passed *p, long *made)
{
	const uint64_t *a = p->ev->args; /* the thread as the program knows it */
	return thread_robust_list((int32_t)a[0], a[1], a[2], made);
}

static bool futex(struct passed *p, long *made)
{
	*made = blocking_futex(p->ev, p->a);
	return true;
}

static bool limits(struct passed *p, long *made)
{
	return limits_call(p->ev->nr, p->a, made);
}

static bool process_settings(struct passed *p, long *made)
{
	return prctl_answered(p->ev, made);
}

static bool filters(struct passed *p, long *made)
{
	*made = seccomp_answered(p->ev);
	return true;
}

static bool segment(struct passed *p, long *made)
{
	uint64_t *a = p->a;
	(void)made;
	if ((int)a[1] == IPC_RMID || (int)a[1] == IPC_SET || (int)a[1] == IPC_STAT)
		a[0] = other_names->segment(a[0]);
	return false;
}

/* ---- signals and timers ---- */

static bool queues_signal(struct passed *p, long *made)
{
	uint64_t *a = p->a;
	(void)made;
	if (a[0] == (uint64_t)lower.pid)
		a[3] = queued_to(a[2], a[3], &p->marked);
	return false;
}

static bool asks_pending(struct passed *p, long *made)
{
	const uint64_t set = signals_pending(), *a = p->ev->args;
	*made = a[1] > sizeof(set) ? -EINVAL : user_write(a[0], &set, a[1]);
	return true;
}

static bool waits_for_signal(struct passed *p, long *made)
{
	*made = signals_timedwait(p->a[0], p->a[1], p->a[2], p->a[3]);
	return true;
}

static bool suspends(struct passed *p, long *made)
{
	static const uint64_t none[6];
	if (p->masked)
		*made = blocking_syscall(SYS_pause, none);
	return p->masked;
}

static bool signal_descriptor(struct passed *p, long *made)
{
	uint64_t mask;
	(void)made;
	if (p->a[2] == sizeof(mask) && !user_read(&mask, p->a[1], sizeof(mask)))
		signals_by_descriptor(mask, true);
	return false;
}

static bool makes_timer(struct passed *p, long *made)
{
	*made = other_names->timer_create(p->a[0], p->a[1], p->a[2]);
	return true;
}

static bool sets_timer(struct passed *p, long *made)
{
	*made = timer_set_or_deleted((long)p->ev->nr, p->a);
	return true;
}

/* ---- waiting for descriptors: signals_suspend() has applied the mask ---- */

static bool polls(struct passed *p, long *made)
{
	(void)made;
	p->a[3] = p->masked ? 0 : p->a[3];
	return false;
}

static bool waits_for_epoll(struct passed *p, long *made)
{
	(void)made;
	p->a[4] = p->masked ? 0 : p->a[4];
	return false;
}

static bool selects(struct passed *p, long *made)
{
	(void)made;
	if (p->ev->nr == SYS_pselect6 && p->masked)
		p->a[5] = 0;
	p->a[0] = (uint64_t)select_descriptors((int)p->a[0]);
	return false;
}

/* ---- descriptors and files ---- */

/* Programs try numbers to find what is open. */
static bool asks_for_ours(uint64_t nr, const uint64_t *a)
{
	char name = 0;
	if ((int)a[0] < lower.lowest_fd)
		return false;
	switch (nr) {
	case SYS_statx:
	case SYS_newfstatat: /* fstat(3) */
		if (!(a[nr == SYS_statx ? 2 : 3] & AT_EMPTY_PATH) || (a[1] && (user_read(&name, a[1], 1) || name)))
			return false;
		break;
	case SYS_read:
	case SYS_readv:
	case SYS_pread64:
	case SYS_write:
	case SYS_writev:
	case SYS_pwrite64:
	case SYS_fstat:
	case SYS_fstatfs:
	case SYS_lseek:
	case SYS_ioctl:
	case SYS_fcntl:
	case SYS_flock:
	case SYS_fsync:
	case SYS_fdatasync:
	case SYS_ftruncate:
	case SYS_fchmod:
	case SYS_fchown:
	case SYS_dup:
	case SYS_dup2:
	case SYS_dup3:
	case SYS_close:
	case SYS_preadv:
	case SYS_preadv2:
	case SYS_pwritev:
	case SYS_pwritev2:
	case SYS_getdents:
	case SYS_getdents64:
	case SYS_fchdir:
	case SYS_fallocate:
	case SYS_fadvise64:
	case SYS_readahead:
	case SYS_sync_file_range:
	case SYS_syncfs:
	case SYS_fgetxattr:
	case SYS_fsetxattr:
	case SYS_flistxattr:
	case SYS_fremovexattr:
	case SYS_bind:
	case SYS_connect:
	case SYS_listen:
	case SYS_accept:
	case SYS_accept4:
	case SYS_shutdown:
	case SYS_getsockname:
	case SYS_getpeername:
	case SYS_getsockopt:
	case SYS_setsockopt:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_epoll_ctl:
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_timerfd_gettime:
	case SYS_timerfd_settime:
	case SYS_inotify_add_watch:
	case SYS_inotify_rm_watch: break;
	default: return false;
	}
	return descriptor_is_ours((int)a[0]);
}

static bool takes_number(struct passed *p, long *made)
{
	*made = -EBADF;
	return descriptor_is_ours((int)p->a[1]);
}

static bool controls(struct passed *p, long *made)
{
	(void)made;
	if (p->a[1] == F_SETLK || p->a[1] == F_SETLKW)
		apart_needed();
	return false;
}

static bool requests(struct passed *p, long *made)
{
	*made = ioctl_refused((int)p->a[0], (unsigned)p->a[1]);
	return *made;
}

static bool lists(struct passed *p, long *made)
{
	const uint64_t *a = p->a;
	return proc_files_list((long)p->ev->nr, (int)a[0], a[1], (unsigned)a[2], made) ||
	       (p->ev->nr == SYS_getdents64 && other_names->lists((int)a[0], (char *)a[1], a[2], made));
}

static bool reads_link(struct passed *p, long *made)
{
	const bool at = p->ev->nr == SYS_readlinkat;
	const uint64_t *a = p->a + at;
	if (!redirect_self(at ? (int)p->a[0] : AT_FDCWD, (const char *)a[0]))
		return false;
	*made = redirect_readlink(a[1], (int)a[2]);
	return true;
}

static bool opens(struct passed *p, long *made)
{
	const bool at = p->ev->nr == SYS_openat;
	const int dir = at ? (int)p->a[0] : AT_FDCWD;
	uint64_t *a = p->a + at;
	const char *asked = (const char *)a[0];
	if (proc_files_open(dir, asked, (unsigned)a[1], made))
		return true;
	const char *path = redirect_self(dir, asked) ? redirect_exe() : redirected(asked);
	if (at && path != asked && path != redirect_exe()) {
		if (passing())
			threads_lock();
		memory_alias(path, asked);
		if (passing())
			threads_unlock();
	}
	a[0] = (uint64_t)path;
	other_names->paths(p->ev->nr, p->a, p->room);
	return false;
}

bool passed_call(struct passed *p, long *made)
{
	static bool (*const calls[])(struct passed * p, long *made) = {
		[SYS_open] = opens,
		[SYS_openat] = opens,
		[SYS_dup2] = takes_number,
		[SYS_dup3] = takes_number,
		[SYS_fcntl] = controls,
		[SYS_ioctl] = requests,
		[SYS_getdents] = lists,
		[SYS_getdents64] = lists,
		[SYS_readlink] = reads_link,
		[SYS_readlinkat] = reads_link,
		[SYS_select] = selects,
		[SYS_pselect6] = selects,
		[SYS_ppoll] = polls,
		[SYS_epoll_pwait] = waits_for_epoll,
		[SYS_epoll_pwait2] = waits_for_epoll,
		[SYS_fork] = forks,
		[SYS_vfork] = forks,
		[SYS_clone] = forks,
		[SYS_clone3] = forks,
		[SYS_execve] = executes,
		[SYS_execveat] = executes,
		[SYS_gettid] = asks_tid,
		[SYS_get_robust_list] = asks_robust_list,
		[SYS_futex] = futex,
		[SYS_getrlimit] = limits,
		[SYS_setrlimit] = limits,
		[SYS_prlimit64] = limits,
		[SYS_prctl] = process_settings,
		[SYS_seccomp] = filters,
		[SYS_shmctl] = segment,
		[SYS_rt_tgsigqueueinfo] = queues_signal,
		[SYS_rt_sigpending] = asks_pending,
		[SYS_rt_sigtimedwait] = waits_for_signal,
		[SYS_rt_sigsuspend] = suspends,
		[SYS_signalfd] = signal_descriptor,
		[SYS_signalfd4] = signal_descriptor,
		[SYS_timer_create] = makes_timer,
		[SYS_timer_settime] = sets_timer,
		[SYS_timer_delete] = sets_timer,
	};
	const uint64_t nr = p->ev->nr;
	if (asks_for_ours(nr, p->a)) {
		*made = -EBADF;
		return true;
	}
	return nr < sizeof(calls) / sizeof(*calls) && calls[nr] && calls[nr](p, made);
}
