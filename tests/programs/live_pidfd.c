/* live_pidfd WAY: a pidfd of a child (open, clone), of itself, or of a child that is gone, watched by an epoll.  Calls
 * getppid(2) twice, lets the child end, and prints what the pidfd says. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OF_PIDFD = 3, DEADLINE_MS = 60000 };

static int go[2];

static int child(void)
{
	char byte;
	close(go[1]);
	return read(go[0], &byte, 1) ? 1 : 7;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	int fd = -1;
	if (pipe(go))
		return 1;
	const long pid = !strcmp(way, "clone") ? syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, 0, &fd, 0, 0) : fork();
	if (!pid)
		_exit(child());
	if (fd < 0)
		fd = (int)syscall(SYS_pidfd_open, strcmp(way, "self") ? pid : getpid(), 0);
	if (!strcmp(way, "gone")) {
		kill((pid_t)pid, SIGKILL);
		waitpid((pid_t)pid, NULL, 0);
	}
	const int set = epoll_create1(0);
	epoll_ctl(set, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN});
	getppid();
	struct epoll_event came;
	const int early = epoll_wait(set, &came, 1, 0);
	printf("%d %ld\n", early, syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0));
	getppid();
	close(go[1]);
	if (!strcmp(way, "self"))
		return waitpid((pid_t)pid, NULL, 0) != pid;
	siginfo_t info = {0};
	const int ended = epoll_wait(set, &came, 1, DEADLINE_MS);
	const long waited = waitid((idtype_t)OF_PIDFD, (id_t)fd, &info, WEXITED);
	printf("%d %ld %d %d\n", ended, waited, info.si_status, info.si_pid == pid);
	return 0;
}
