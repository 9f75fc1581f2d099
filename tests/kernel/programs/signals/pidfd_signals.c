/* pidfd_send_signal(2): sends to the process that the descriptor means; ESRCH when it is gone. */
#include "../observe.h"
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)context;
	printf("signal %d code %d value %d\n", sig, info->si_code, info->si_value.sival_int);
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	siginfo_t info = {.si_signo = SIGUSR1, .si_code = SI_QUEUE};
	int mine = pidfd_open(getpid(), 0), fd, up[2];
	struct pollfd one;
	pid_t child;
	char c;

	MUST(mine >= 0 && !pipe(up) && !sigaction(SIGUSR1, &action, NULL));
	info.si_value.sival_int = 17;
	SAY(pidfd_send_signal(mine, SIGUSR1, &info, 0));
	info.si_signo = SIGUSR2;
	SAY(pidfd_send_signal(mine, SIGUSR1, &info, 0));
	SAY(pidfd_send_signal(mine, 0, NULL, 0));
	SAY(pidfd_send_signal(mine, SIGUSR1, NULL, 99));
	SAY(pidfd_send_signal(0, SIGUSR1, NULL, 0));
	SAY(pidfd_open(-1, 0));
	SAY(pidfd_open(0x7ffffffe, 0));
	fflush(stdout);
	child = fork();
	if (!child) {
		MUST(write(up[1], "x", 1) == 1);
		for (;;)
			pause();
	}
	MUST(read(up[0], &c, 1) == 1); /* SIGKILL waits for nobody */
	fd = pidfd_open(child, PIDFD_NONBLOCK);
	MUST(fd >= 0);
	one = (struct pollfd){fd, POLLIN, 0};
	SAY(poll(&one, 1, 0));
	memset(&info, 0, sizeof info);
	SAY(waitid(P_PIDFD, (id_t)fd, &info, WEXITED));
	SAY(pidfd_send_signal(fd, SIGKILL, NULL, 0));
	SAY(poll(&one, 1, -1));
	printf("%x\n", one.revents & ~POLLHUP);
	SAY(waitid(P_PIDFD, (id_t)fd, &info, WEXITED));
	printf("code %d status %d\n", info.si_code, info.si_status);
	SAY(pidfd_send_signal(fd, SIGKILL, NULL, 0));
	return 0;
}
