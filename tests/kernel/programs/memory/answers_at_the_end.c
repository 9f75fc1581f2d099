/* ioctl(2), getsockopt(2) and others: an answer may end where memory ends; no call writes more than it has to say. */
#include "../observe.h"
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <sys/xattr.h>

static char *end;

static void *last(size_t bytes)
{
	memset(end - 4096, 0xaa, 4096);
	return end - bytes;
}

int main(void)
{
	char *const pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(pages != MAP_FAILED && !munmap(pages + 4096, 4096));
	end = pages + 4096;
	const int file = open("file", O_RDWR | O_CREAT, 0600), epoll = epoll_create1(0),
		  terminal = posix_openpt(O_RDWR);
	const int sems = semget(IPC_PRIVATE, 3, 0600), timer = timerfd_create(CLOCK_MONOTONIC, 0);
	struct epoll_event event = {.events = EPOLLOUT};
	int pair[2], *const flags = last(sizeof(int));
	socklen_t length = sizeof(int);
	sigset_t one;

	MUST(file >= 0 && epoll >= 0 && terminal >= 0 && sems >= 0 && timer >= 0);
	OK(ioctl(file, FS_IOC_GETFLAGS, flags));
	OK(ioctl(file, FS_IOC_GETVERSION, flags));
	SAY(ioctl(file, FIGETBSZ, flags) < 0);
	SAY(ioctl(terminal, TIOCGPTLCK, flags));
	SAY(ioctl(terminal, TIOCGWINSZ, last(sizeof(struct winsize))));
	SAY(ioctl(terminal, TCGETS, last(36)));
	SAY(syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, last(sizeof pair)));
	memcpy(pair, end - sizeof pair, sizeof pair);
	SAY(getsockopt(pair[0], SOL_SOCKET, SO_TYPE, last(sizeof(int)), &length));
	length = 110;
	SAY(getsockname(pair[0], last(2), &length));
	MUST(write(pair[1], "abcdef", 6) == 6);
	SAY(recv(pair[0], last(6), 100, 0));
	MUST(!epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &event));
	SAY(epoll_wait(epoll, last(sizeof event), 8, 0));
	SAY(syscall(SYS_semctl, sems, 0, GETALL, last(3 * sizeof(short))));
	SAY(semctl(sems, 0, IPC_RMID));
	SAY(timerfd_gettime(timer, last(sizeof(struct itimerspec))));
	SAY(syscall(SYS_getgroups, 0, NULL) < 0);
	SAY(syscall(SYS_rt_sigpending, last(4), 4));
	SAY(syscall(SYS_sched_getattr, 0, last(48), 48, 0));
	SAY(syscall(SYS_getcpu, last(4), NULL, NULL));
	SAY(readlink("/proc/self/cwd", last(3), 3));
	OK(setxattr("file", "user.a", "xyz", 3, 0));
	OK(listxattr("file", last(7), 7));
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	MUST(!sigprocmask(SIG_BLOCK, &one, NULL));
	const int signals = signalfd(-1, &one, SFD_NONBLOCK);
	raise(SIGUSR1);
	SAY(read(signals, last(sizeof(struct signalfd_siginfo)), 1000));
	raise(SIGUSR1);
	SAY(sigwaitinfo(&one, last(sizeof(siginfo_t))));
	const pid_t child = fork();
	if (!child)
		_exit(0);
	SAY(waitid(P_PID, (id_t)child, last(sizeof(siginfo_t)), WEXITED | WNOWAIT));
	SAY(syscall(SYS_wait4, child, last(sizeof(int)), 0, NULL) == child);
	return 0;
}
