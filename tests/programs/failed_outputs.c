/* Calls that fail and have written all the same: waitid(2), timer_create(2). */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void alarmed(int sig)
{
	(void)sig;
}

static void wait_for(idtype_t type, id_t id, int options)
{
	siginfo_t info;
	memset(&info, 0x55, sizeof(info));
	const int rc = waitid(type, id, &info, options);
	printf("%d %d %x %x %x\n", rc, errno, info.si_signo, info.si_code, info.si_status);
}

int main(void)
{
	const struct sigaction sa = {.sa_handler = alarmed};
	const struct itimerval often = {{0, 20000}, {0, 20000}}, never = {0};
	wait_for(P_ALL, 0, WEXITED);
	wait_for(P_PID, 1, WEXITED);
	wait_for(P_ALL, 0, 0);
	sigaction(SIGALRM, &sa, NULL);
	const pid_t child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	setitimer(ITIMER_REAL, &often, NULL);
	wait_for(P_PID, (id_t)child, WEXITED);
	setitimer(ITIMER_REAL, &never, NULL);
	kill(child, SIGKILL);
	wait_for(P_PID, (id_t)child, WEXITED);
	for (long clock = 0; clock < 16; clock++) {
		int id = 0x55555555;
		const long rc = syscall(SYS_timer_create, clock, NULL, &id);
		printf("%ld %ld %d %d\n", clock, rc, errno, id != 0x55555555);
	}
	return 0;
}
