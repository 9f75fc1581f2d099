/* pidfd_open(2): a pidfd is readable when the process has ended; signals by it, waitid with P_PIDFD, errors. */
#include "../observe.h"
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#ifndef P_PIDFD
#define P_PIDFD 3
#endif

int main(void)
{
	siginfo_t info = {0};
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(1);
	}
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		skip("pidfd_open");
	struct pollfd one = {fd, POLLIN, 0};
	SAY(poll(&one, 1, 0));
	SAY(syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0));
	SAY(syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0));
	SAY(poll(&one, 1, -1));
	SAY(waitid(P_PIDFD, fd, &info, WEXITED));
	printf("%d %d %d\n", info.si_code, info.si_status, info.si_pid == pid);
	SAY(syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0));
	SAY(waitid(P_PIDFD, fd, &info, WEXITED));
	SAY(syscall(SYS_pidfd_open, pid, 0));
	SAY(syscall(SYS_pidfd_open, 0, 0));
	SAY(syscall(SYS_pidfd_open, getpid(), 1 << 20));
	SAY(syscall(SYS_pidfd_send_signal, 1, 0, NULL, 0));
	return 0;
}
