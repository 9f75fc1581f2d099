#include "answer/pid_calls.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "task/clock_ids.h"
#include "answer/path_argument.h"
#include "base/pids.h"
#include "base/user.h"
#include "task/signals.h"
#include "task/thread.h"

#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE 62
#endif

/* ---- before the call ---- */

static void now(uint64_t *id)
{
	*id = threads_number_now(*id);
}

/* A word of what the argument points to. */
static void word_in(uint64_t *arg, unsigned at, size_t size, struct pid_room *room)
{
	if (user_read(room->word, *arg, size))
		return;
	room->word[at] = (int32_t)threads_number_now((uint64_t)(int64_t)room->word[at]);
	*arg = (uint64_t)room->word;
}

static void info_in(uint64_t *arg, struct pid_room *room)
{
	if (!*arg || user_read(&room->info, *arg, sizeof(room->info)) || !pid_of_signal(&room->info))
		return;
	room->info.si_pid = (pid_t)threads_number_now((uint64_t)room->info.si_pid);
	*arg = (uint64_t)&room->info;
}

/* unix(7), SCM_CREDENTIALS.  f changes the ids in these control messages; true: there is one. */
static bool credentials(char *control, size_t len, int32_t (*f)(int32_t))
{
	bool any = false;
	struct cmsghdr h;
	for (size_t at = 0; at + sizeof(h) <= len; at += CMSG_ALIGN(h.cmsg_len)) {
		int32_t pid;
		memcpy(&h, control + at, sizeof(h));
		if (h.cmsg_len < sizeof(h) || h.cmsg_len > len - at)
			break;
		if (h.cmsg_level != SOL_SOCKET || h.cmsg_type != SCM_CREDENTIALS ||
		    h.cmsg_len < CMSG_LEN(sizeof(struct ucred)))
			continue;
		memcpy(&pid, control + at + CMSG_LEN(0), sizeof(pid));
		pid = f(pid);
		memcpy(control + at + CMSG_LEN(0), &pid, sizeof(pid));
		any = true;
	}
	return any;
}

static int32_t pid_is_now(int32_t known)
{
	return (int32_t)threads_number_now((uint64_t)known);
}

static void message_in(uint64_t *arg, struct pid_room *room)
{
	struct msghdr *head = &room->message.head;
	if (user_read(head, *arg, sizeof(*head)) || !head->msg_controllen ||
	    head->msg_controllen > sizeof(room->message.control) ||
	    user_read(room->message.control, (uint64_t)head->msg_control, head->msg_controllen) ||
	    !credentials(room->message.control, head->msg_controllen, pid_is_now))
		return;
	head->msg_control = room->message.control;
	*arg = (uint64_t)head;
}

/* /proc/PID and /proc/PID/task/TID.  dir: the descriptor of the folder where the path begins. */
static void path_in(int dir, uint64_t *arg, struct pid_room *room)
{
	const char *path = (const char *)*arg;
	char link[32], folder[PATH_MAX + 1] = "/proc";
	if (!strncmp(path, "/proc/", 6)) {
		path += 6;
	} else {
		if (*path < '1' || *path > '9')
			return;
		snprintf(link, sizeof(link), dir == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", dir);
		const ssize_t n = readlink(link, folder, PATH_MAX);
		folder[n < 0 ? 0 : n] = 0;
	}
	unsigned id;
	int used = 0, at = 0, task = 0;
	if (!strcmp(folder, "/proc") && sscanf(path, "%9u%n", &id, &used) == 1 && (!path[used] || path[used] == '/'))
		at = snprintf(room->path, sizeof(room->path), "/proc/%d", (int)threads_number_now(id));
	else if (!strncmp(path, "self/", 5))
		at = snprintf(room->path, sizeof(room->path), "/proc/self"), used = 4;
	else if (!strncmp(folder, "/proc/", 6) && sscanf(folder, "/proc/%*u/task%n", &task) == 0 && task &&
		 !folder[task])
		at = snprintf(room->path, sizeof(room->path), "%s", folder);
	else
		return;
	path += used;
	if (task ? sscanf(path, "%9u%n", &id, &used) == 1 : sscanf(path, "/task/%9u%n", &id, &used) == 1) {
		at += snprintf(room->path + at, sizeof(room->path) - (size_t)at, "%s/%d", task ? "" : "/task",
			       (int)threads_number_now(id));
		path += used;
	}
	if ((size_t)at + strlen(path) >= sizeof(room->path))
		return;
	strcpy(room->path + at, path);
	*arg = (uint64_t)room->path;
}

void pids_in(uint64_t nr, uint64_t a[6], struct pid_room *room)
{
	struct path_argument path;
	if (!pids())
		return;
	if (path_argument(nr, a, &path))
		path_in(path.dir < 0 ? AT_FDCWD : (int)a[path.dir], &a[path.at], room);
	switch (nr) {
	case SYS_rt_sigqueueinfo:
		now(&a[0]);
		info_in(&a[2], room);
		break;
	case SYS_rt_tgsigqueueinfo:
		now(&a[0]);
		now(&a[1]);
		info_in(&a[3], room);
		break;
	case SYS_pidfd_send_signal: info_in(&a[2], room); break;
	case SYS_setpgid:
	case SYS_kcmp:
	case SYS_tgkill: now(&a[1]); /* fall through */
	case SYS_kill:
	case SYS_tkill:
	case SYS_wait4:
	case SYS_getpgid:
	case SYS_getsid:
	case SYS_prlimit64:
	case SYS_pidfd_open:
	case SYS_process_vm_readv:
	case SYS_process_vm_writev:
	case SYS_migrate_pages:
	case SYS_move_pages:
	case SYS_sched_setaffinity:
	case SYS_sched_getaffinity:
	case SYS_sched_setparam:
	case SYS_sched_getparam:
	case SYS_sched_setscheduler:
	case SYS_sched_getscheduler:
	case SYS_sched_setattr:
	case SYS_sched_getattr:
	case SYS_sched_rr_get_interval:
	case SYS_get_robust_list: now(&a[0]); break;
	case SYS_clock_gettime:
	case SYS_clock_getres:
	case SYS_clock_settime:
	case SYS_clock_adjtime:
	case SYS_clock_nanosleep: a[0] = (uint64_t)clock_id_now((clockid_t)a[0]); break;
	case SYS_capget:
	case SYS_capset: word_in(&a[0], 1, 2 * sizeof(int32_t), room); break;
	case SYS_fcntl:
		if (a[1] == F_SETOWN)
			now(&a[2]);
		else if (a[1] == F_SETOWN_EX)
			word_in(&a[2], 1, sizeof(struct f_owner_ex), room);
		break;
	case SYS_ioctl:
		if ((uint32_t)a[1] == TIOCSPGRP || (uint32_t)a[1] == FIOSETOWN || (uint32_t)a[1] == SIOCSPGRP)
			word_in(&a[2], 0, sizeof(int32_t), room);
		break;
	case SYS_ioprio_get:
	case SYS_ioprio_set: /* ioprio_set(2): 1 a thread, 2 a group of processes */
		if (a[0] == 1 || a[0] == 2)
			now(&a[1]);
		break;
	case SYS_getpriority:
	case SYS_setpriority:
		if (a[0] == PRIO_PGRP || a[0] == PRIO_PROCESS)
			now(&a[1]);
		break;
	case SYS_waitid:
		if (a[0] == P_PID || a[0] == P_PGID)
			now(&a[1]);
		break;
	case SYS_prctl:
		if (a[0] == PR_SET_PTRACER)
			now(&a[1]);
		else if (a[0] == PR_SCHED_CORE)
			now(&a[2]);
		break;
	case SYS_sendmsg: message_in(&a[1], room); break;
	}
}

/* ---- its answer ---- */

static void known(uint64_t at)
{
	int32_t id;
	if (at && !user_read(&id, at, sizeof(id))) {
		id = threads_number_known(id);
		(void)user_write(at, &id, sizeof(id)); /* the kernel has just written there */
	}
}

static void known_group(uint64_t at)
{
	int32_t id;
	if (!user_read(&id, at, sizeof(id))) {
		id = id < 0 ? -pid_group_known(-id) : pid_group_known(id);
		(void)user_write(at, &id, sizeof(id));
	}
}

static void message_out(uint64_t at)
{
	char control[1024];
	struct msghdr head;
	if (user_read(&head, at, sizeof(head)) || head.msg_controllen > sizeof(control) ||
	    user_read(control, (uint64_t)head.msg_control, head.msg_controllen))
		return;
	if (credentials(control, head.msg_controllen, threads_number_known))
		(void)user_write((uint64_t)head.msg_control, control, head.msg_controllen);
}

static bool is_signalfd(int fd)
{
	char link[32], to[32] = "";
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return signals_wait_in_kernel() && readlink(link, to, sizeof(to) - 1) > 0 &&
	       !strcmp(to, "anon_inode:[signalfd]");
}

/* signalfd(2) */
static void signals_out(uint64_t at, uint64_t len)
{
	for (; len >= sizeof(struct signalfd_siginfo);
	     at += sizeof(struct signalfd_siginfo), len -= sizeof(struct signalfd_siginfo)) {
		struct signalfd_siginfo one;
		if (user_read(&one, at, sizeof(one)))
			return;
		const siginfo_t info = {.si_signo = (int)one.ssi_signo, .si_code = one.ssi_code};
		if (pid_of_signal(&info))
			known(at + offsetof(struct signalfd_siginfo, ssi_pid));
	}
}

static int64_t got_owner(const uint64_t a[6], int64_t result)
{
	struct f_owner_ex owner;
	if (a[1] == F_GETOWN)
		return result < -4095 ? -pid_group_known((int32_t)-result) : threads_number_known((int32_t)result);
	if (a[1] == F_GETOWN_EX && !user_read(&owner, a[2], sizeof(owner))) {
		owner.pid = owner.type == F_OWNER_PGRP ? pid_group_known(owner.pid) : threads_number_known(owner.pid);
		(void)user_write(a[2], &owner, sizeof(owner));
	} else if (a[1] == F_GETLK) {
		known(a[2] + offsetof(struct flock, l_pid));
	}
	return result;
}

int64_t pids_out(uint64_t nr, const uint64_t a[6], int64_t result)
{
	if (!pids() || (result < 0 && !(nr == SYS_fcntl && a[1] == F_GETOWN)))
		return result;
	switch (nr) {
	case SYS_getpid:
	case SYS_wait4: return pid_known((int32_t)result);
	case SYS_getppid: return pid_parent_known((int32_t)result);
	case SYS_getpgrp:
	case SYS_getpgid: return pid_group_known((int32_t)result);
	case SYS_setsid:
	case SYS_getsid: return pid_session_known((int32_t)result);
	case SYS_fcntl: return got_owner(a, result);
	case SYS_semctl: return ((int)a[2] & ~0x100 /* IPC_64 */) == GETPID ? pid_known((int32_t)result) : result;
	case SYS_waitid:
		if (a[2])
			known(a[2] + offsetof(siginfo_t, si_pid));
		break;
	case SYS_getsockopt:
		if ((int)a[1] == SOL_SOCKET && (int)a[2] == SO_PEERCRED)
			known(a[3]);
		break;
	case SYS_ioctl:
		if ((uint32_t)a[1] == TIOCGSID) {
			int32_t id;
			if (!user_read(&id, a[2], sizeof(id))) {
				id = pid_session_known(id);
				(void)user_write(a[2], &id, sizeof(id));
			}
		} else if ((uint32_t)a[1] == TIOCGPGRP || (uint32_t)a[1] == FIOGETOWN || (uint32_t)a[1] == SIOCGPGRP) {
			known_group(a[2]);
		}
		break;
	case SYS_shmctl:
		if ((int)a[1] == IPC_STAT || (int)a[1] == SHM_STAT || (int)a[1] == SHM_STAT_ANY) {
			known(a[2] + offsetof(struct shmid_ds, shm_cpid));
			known(a[2] + offsetof(struct shmid_ds, shm_lpid));
		}
		break;
	case SYS_msgctl:
		if ((int)a[1] == IPC_STAT || (int)a[1] == MSG_STAT || (int)a[1] == MSG_STAT_ANY) {
			known(a[2] + offsetof(struct msqid_ds, msg_lspid));
			known(a[2] + offsetof(struct msqid_ds, msg_lrpid));
		}
		break;
	case SYS_recvmsg: message_out(a[1]); break;
	case SYS_recvmmsg:
		for (int64_t i = 0; i < result; i++)
			message_out(a[1] + (uint64_t)i * sizeof(struct mmsghdr));
		break;
	case SYS_read:
		if (result >= (int64_t)sizeof(struct signalfd_siginfo) && is_signalfd((int)a[0]))
			signals_out(a[1], (uint64_t)result);
		break;
	case SYS_readv: {
		struct iovec one;
		uint64_t left = (uint64_t)result;
		if (left < sizeof(struct signalfd_siginfo) || !is_signalfd((int)a[0]))
			break;
		for (uint64_t i = 0; left && !user_read(&one, a[1] + i * sizeof(one), sizeof(one)); i++) {
			const uint64_t len = one.iov_len < left ? one.iov_len : left;
			signals_out((uint64_t)one.iov_base, len);
			left -= len;
		}
		break;
	}
	}
	return result;
}

bool pids_link(uint64_t nr, const uint64_t a[6], int64_t *result)
{
	const bool at = nr == SYS_readlinkat;
	char text[64];
	if (!pids() || (nr != SYS_readlink && !at))
		return false;
	const char *path = (const char *)a[at];
	const bool thread = !strcmp(path, "/proc/thread-self");
	if (!thread && strcmp(path, "/proc/self") != 0)
		return false;
	const int pid = pid_known(lower.pid);
	const int len = thread ? snprintf(text, sizeof(text), "%d/task/%d", pid, thread_self()->upper.tid)
			       : snprintf(text, sizeof(text), "%d", pid);
	const int room = (int)a[at + 2], n = room < len ? room : len;
	*result = room <= 0 ? -EINVAL : user_write(a[at + 1], text, (size_t)n) ? -EFAULT : n;
	return true;
}
