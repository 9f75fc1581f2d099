#include "task/unwaiting.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include "base/user.h"
#include "task/newer_calls.h"

static const struct timespec no_time; /* as an absolute time, long ago */

/* Sets the flag.  False: the program has set it itself, so the call does not wait. */
static bool flag(uint64_t *arg, int bit)
{
	const bool new = !((int)*arg & bit);
	*arg |= (uint64_t)bit;
	return new;
}

void unwaiting_poll(long nr, uint64_t args[6])
{
	switch (nr) {
	case SYS_select:
	case SYS_pselect6: args[4] = (uint64_t)&no_time; break;
	case SYS_poll: args[2] = 0; break;
	case SYS_ppoll: args[2] = (uint64_t)&no_time; break;
	case SYS_epoll_wait:
	case SYS_epoll_pwait: args[3] = 0; break;
	case SYS_epoll_pwait2: args[3] = (uint64_t)&no_time; break;
	}
}

static bool no_time_out(long nr, const uint64_t args[6])
{
	struct timespec limit;
	if (nr != SYS_epoll_pwait2)
		return (int)args[3] == 0;
	return args[3] && !user_read(&limit, args[3], sizeof(limit)) && !limit.tv_sec && !limit.tv_nsec;
}

bool unwaiting(long nr, const uint64_t args[6], struct unwaiting *u)
{
	enum { NEVER = -4096 }; /* no call answers so */
	uint64_t *a = u->args;
	u->nr = nr;
	memcpy(a, args, sizeof(u->args));
	u->would_wait = 0;
	switch (nr) {
	case SYS_wait4: u->would_wait = flag(&a[2], WNOHANG) ? 0 : NEVER; return true;
	case SYS_flock: u->would_wait = flag(&a[1], LOCK_NB) ? -EWOULDBLOCK : NEVER; return true;
	case SYS_msgsnd: u->would_wait = flag(&a[3], IPC_NOWAIT) ? -EAGAIN : NEVER; return true;
	case SYS_msgrcv: u->would_wait = flag(&a[4], IPC_NOWAIT) ? -ENOMSG : NEVER; return true;
	case SYS_semop:
	case SYS_semtimedop:
		u->nr = SYS_semtimedop;
		a[3] = (uint64_t)&no_time;
		u->would_wait = -EAGAIN;
		return true;
	case SYS_mq_timedsend:
	case SYS_mq_timedreceive:
		a[4] = (uint64_t)&no_time;
		u->would_wait = -ETIMEDOUT;
		return true;
	case SYS_fcntl:
		a[1] = a[1] == F_SETLKW ? F_SETLK : F_OFD_SETLK;
		u->would_wait = -EAGAIN;
		return args[1] == F_SETLKW || args[1] == F_OFD_SETLKW;
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2: /* fs/eventpoll.c, ep_poll: without a time-out no signal is looked for */
		u->would_wait = no_time_out(nr, a) ? NEVER : 0; /* fall through */
	case SYS_select:
	case SYS_pselect6:
	case SYS_poll:
	case SYS_ppoll: unwaiting_poll(nr, a); return true;
	case SYS_sched_yield: u->would_wait = NEVER; return true;
	default: return false;
	}
}
