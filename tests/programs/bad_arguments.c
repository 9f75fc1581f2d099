/* System calls, each of whose pointers (P) is one that is bad in some way while the others are good.  It prints what the kernel
 * says. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { P = 0x7eadbeef, PAGE = 4096, EACH = 512, ROOM = 8192 };

struct call {
	const char *name;
	long number, args[6];
};

static char *good, *last, *read_only;
static int file;

/* No time-out there. */
static bool waits_for_ever(const struct call *c, int which)
{
	return which == (c->number == SYS_ppoll || c->number == SYS_rt_sigtimedwait ? 2
			 : c->number == SYS_select || c->number == SYS_pselect6     ? 4
										    : -1);
}

static void with_bad(const struct call *c, int which)
{
	/* nothing, the first page, none, partly there, there but for reading, the end of what a program can have */
	const long bad[] = {0, 16, (long)(last + PAGE), (long)(last + PAGE - 4), (long)read_only, 0x7ffffffff000};
	for (unsigned kind = waits_for_ever(c, which); kind < sizeof(bad) / sizeof(*bad); kind++) {
		long a[6], rc;
		memset(good, 0, 6 * EACH);
		for (int i = 0; i < 6; i++)
			a[i] = c->args[i] == P ? (long)(good + i * EACH) : c->args[i];
		a[which] = bad[kind];
		lseek(file, 0, SEEK_SET);
		rc = syscall(c->number, a[0], a[1], a[2], a[3], a[4], a[5]);
		printf("%s %d %u: %s\n", c->name, which, kind, rc < 0 ? strerrorname_np(errno) : "done");
	}
}

#define CALL(name, ...) \
	{ \
#name, SYS_##name, \
		{ \
			__VA_ARGS__ \
		} \
	}

int main(void)
{
	char name[] = "/tmp/bad-arguments-XXXXXX", text[ROOM];
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sigevent none = {.sigev_notify = SIGEV_NONE};
	int sp[2], pi[2], timer = 0;
	const int flags = PROT_READ | PROT_WRITE, how = MAP_PRIVATE | MAP_ANONYMOUS;
	const int ep = epoll_create1(0), listens = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	const int descriptors = open("/proc/self/fd", O_RDONLY | O_DIRECTORY);
	const int clock = (int)syscall(SYS_timerfd_create, CLOCK_MONOTONIC, 0);
	good = mmap(NULL, ROOM, flags, how, -1, 0);
	last = mmap(NULL, 2 * PAGE, flags, how, -1, 0);
	read_only = mmap(NULL, PAGE, PROT_READ, how, -1, 0);
	file = mkstemp(name);
	memset(text, 'x', sizeof(text));
	if (mprotect(last + PAGE, PAGE, PROT_NONE) || unlink(name) || write(file, text, ROOM) != ROOM ||
	    socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, sp) || pipe2(pi, O_NONBLOCK) ||
	    bind(listens, (struct sockaddr *)&own, sizeof(own)) || listen(listens, 5) ||
	    syscall(SYS_timer_create, CLOCK_MONOTONIC, &none, &timer))
		return 1;
	signal(SIGPIPE, SIG_IGN);
	const struct call calls[] = {
		CALL(read, file, P, 100),
		CALL(write, file, P, 100),
		CALL(write, pi[1], P, 100),
		CALL(pread64, file, P, 100, 0),
		CALL(pwrite64, file, P, 100, 0),
		CALL(readv, file, P, 2),
		CALL(writev, file, P, 2),
		CALL(preadv, file, P, 2, 0, 0),
		CALL(pwritev, file, P, 2, 0, 0),
		CALL(preadv2, file, P, 2, 0, 0, 0),
		CALL(pwritev2, file, P, 2, 0, 0, 0),
		CALL(stat, P, P),
		CALL(lstat, P, P),
		CALL(fstat, file, P),
		CALL(newfstatat, AT_FDCWD, P, P, 0),
		CALL(statx, AT_FDCWD, P, 0, 0x7ff, P),
		CALL(statfs, P, P),
		CALL(fstatfs, file, P),
		CALL(access, P, 0),
		CALL(open, P, 0),
		CALL(openat, AT_FDCWD, P, 0),
		CALL(poll, P, 1, 0),
		CALL(ppoll, P, 1, P, P, 8),
		CALL(select, 1, P, P, P, P),
		CALL(pselect6, 1, P, P, P, P, P),
		CALL(epoll_wait, ep, P, 4, 0),
		CALL(epoll_pwait, ep, P, 4, 0, P, 8),
		CALL(epoll_ctl, ep, EPOLL_CTL_ADD, pi[0], P),
		CALL(epoll_ctl, ep, EPOLL_CTL_DEL, pi[0], P),
		CALL(pipe, P),
		CALL(pipe2, P, 0),
		CALL(socketpair, AF_UNIX, SOCK_STREAM, 0, P),
		CALL(nanosleep, P, P),
		CALL(clock_nanosleep, CLOCK_MONOTONIC, 0, P, P),
		CALL(clock_gettime, CLOCK_MONOTONIC, P),
		CALL(clock_gettime, CLOCK_PROCESS_CPUTIME_ID, P),
		CALL(clock_getres, CLOCK_MONOTONIC, P),
		CALL(gettimeofday, P, P),
		CALL(getcpu, P, P, P),
		CALL(getitimer, ITIMER_REAL, P),
		CALL(setitimer, ITIMER_VIRTUAL, P, P),
		CALL(timer_gettime, timer, P),
		CALL(timer_settime, timer, 0, P, P),
		CALL(timer_create, CLOCK_MONOTONIC, P, P),
		CALL(timerfd_gettime, clock, P),
		CALL(timerfd_settime, clock, 0, P, P),
		CALL(rt_sigaction, SIGUSR1, P, P, 8),
		CALL(rt_sigprocmask, SIG_BLOCK, P, P, 8),
		CALL(rt_sigpending, P, 8),
		CALL(rt_sigtimedwait, P, P, P, 8),
		CALL(sigaltstack, P, P),
		CALL(rt_sigqueueinfo, 0, 0, P),
		CALL(signalfd4, -1, P, 8, 0),
		CALL(bind, sp[0], P, 8),
		CALL(connect, sp[0], P, 8),
		CALL(accept, listens, P, P),
		CALL(accept4, listens, P, P, 0),
		CALL(getsockname, listens, P, P),
		CALL(getpeername, sp[0], P, P),
		CALL(setsockopt, listens, SOL_SOCKET, SO_REUSEADDR, P, 4),
		CALL(getsockopt, listens, SOL_SOCKET, SO_REUSEADDR, P, P),
		CALL(sendto, sp[0], P, 10, 0, 0, 0),
		CALL(sendto, sp[0], P, 10, 0, P, 8),
		CALL(recvfrom, sp[1], P, 10, 0, P, P),
		CALL(sendmsg, sp[0], P, 0),
		CALL(recvmsg, sp[1], P, 0),
		CALL(sendmmsg, sp[0], P, 1, 0),
		CALL(recvmmsg, sp[1], P, 1, 0, P),
		CALL(futex, P, FUTEX_WAKE, 1, 0, 0, 0),
		CALL(futex, P, FUTEX_WAIT, 1, P, 0, 0),
		CALL(futex, P, FUTEX_CMP_REQUEUE, 1, 1, P, 0),
		CALL(futex, P, FUTEX_WAKE_OP, 1, 1, P, 0),
		CALL(futex, P, FUTEX_LOCK_PI, 0, P, 0, 0),
		CALL(uname, P),
		CALL(sysinfo, P),
		CALL(getrusage, 0, P),
		CALL(getrlimit, 7, P),
		CALL(getrandom, P, 16, 0),
		CALL(getcwd, P, 100),
		CALL(readlink, P, P, 100),
		CALL(readlinkat, AT_FDCWD, P, P, 100),
		CALL(readlink, (long)"/proc/self/exe", P, 1),
		CALL(readlink, (long)"/proc/self/exe", P, 0),
		CALL(readlinkat, AT_FDCWD, (long)"/proc/self/exe", P, -1),
		CALL(getdents64, descriptors, P, 100),
		CALL(prctl, 0x41555856 /* PR_GET_AUXV */, P, 99, 0, 0),
		CALL(prctl, 0x41555856, P, 0, 0, 0),
		CALL(getdents64, file, P, 100),
		CALL(getdents, file, P, 100),
		CALL(getgroups, 10, P),
		CALL(getresuid, P, P, P),
		CALL(getresgid, P, P, P),
		CALL(sched_getaffinity, 0, 128, P),
		CALL(sched_getparam, 0, P),
		CALL(sched_rr_get_interval, 0, P),
		CALL(sched_getattr, 0, P, 56, 0),
		CALL(mincore, (long)good, 4096, P),
		CALL(capget, P, P),
		CALL(prctl, 15, P),
		CALL(prctl, 16, P),
		CALL(prctl, 37, P),
		CALL(prctl, 2, P),
		CALL(prctl, 5, P),
		CALL(prctl, 6, P),
		CALL(wait4, -1, P, WNOHANG, P),
		CALL(waitid, P_ALL, 0, P, WNOHANG | WEXITED, P),
		CALL(sendfile, sp[0], file, P, 10),
		CALL(splice, file, P, pi[1], 0, 10, 0),
		CALL(copy_file_range, file, P, file, P, 10, 0),
		CALL(vmsplice, pi[1], P, 1, 0),
		CALL(utimensat, AT_FDCWD, P, P, 0),
		CALL(utime, P, P),
		CALL(utimes, P, P),
		CALL(futimesat, AT_FDCWD, P, P),
		CALL(getxattr, P, P, P, 100),
		CALL(fgetxattr, file, P, P, 100),
		CALL(listxattr, P, P, 100),
		CALL(flistxattr, file, P, 100),
		CALL(setxattr, P, P, P, 4, 0),
		CALL(fsetxattr, file, P, P, 4, 0),
		CALL(fremovexattr, file, P),
		CALL(ioctl, file, 0x5401, P),
		CALL(ioctl, pi[0], 0x541B, P),
		CALL(ioctl, listens, 0x8912, P),
		CALL(ioctl, pi[0], 0x5421, P),
		CALL(ioctl, listens, 0x8927, P),
		CALL(fcntl, file, F_GETLK, P),
		CALL(fcntl, file, F_SETLK, P),
		CALL(fcntl, file, F_GETOWN_EX, P),
		CALL(fcntl, file, F_SETOWN_EX, P),
		CALL(fcntl, file, F_OFD_GETLK, P),
		CALL(fcntl, file, 1036, P),
		CALL(fcntl, file, 1035, P),
		CALL(semop, 0, P, 1),
		CALL(semtimedop, 0, P, 1, P),
		CALL(semctl, 0, 0, 2, P),
		CALL(msgsnd, 0, P, 1, 0),
		CALL(msgrcv, 0, P, 1, 0, 04000),
		CALL(shmctl, 0, 2, P),
		CALL(msgctl, 0, 2, P),
		CALL(process_vm_readv, getpid(), P, 1, P, 1, 0),
		CALL(process_vm_writev, getpid(), P, 1, P, 1, 0),
		CALL(memfd_create, P, 0),
		CALL(inotify_add_watch, ep, P, 1),
		CALL(chdir, P),
		CALL(rename, P, P),
		CALL(link, P, P),
		CALL(symlink, P, P),
		CALL(unlink, P),
		CALL(rmdir, P),
		CALL(mkdir, P, 0),
		CALL(chmod, P, 0),
		CALL(truncate, P, 0),
		CALL(mq_open, P, 0, 0, P),
		CALL(mq_timedsend, 0, P, 1, 0, P),
		CALL(mq_timedreceive, 0, P, 1, P, P),
		CALL(mq_notify, 0, P),
		CALL(mq_getsetattr, 0, P, P),
		CALL(arch_prctl, 0x1003, P),
		CALL(arch_prctl, 0x1004, P),
		CALL(pidfd_send_signal, file, 0, P, 0),
		CALL(waitid, P_ALL, 0, P, WNOHANG | WEXITED, 0),
		CALL(getrandom, P, 0, 0),
		CALL(msync, P, 10, 1),
		CALL(mlock, P, 10),
		CALL(munlock, P, 10),
	};
	for (unsigned i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		for (int k = 0; k < 6; k++)
			if (calls[i].args[k] == P)
				with_bad(&calls[i], k);
	return 0;
}
