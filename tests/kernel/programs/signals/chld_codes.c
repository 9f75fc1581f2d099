/* sigaction(2): SIGCHLD tells how a child ended, stopped or continued; SA_NOCLDSTOP leaves the stops out. */
#include "../observe.h"
#include <signal.h>
#include <sys/wait.h>

static volatile sig_atomic_t count;

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	printf("code %d status %d\n", info->si_code, info->si_status);
	count++;
}

static void await(const sigset_t *old)
{
	int before = count;

	while (count == before)
		sigsuspend(old);
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigset_t chld, old;
	pid_t child;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	MUST(!sigprocmask(SIG_BLOCK, &chld, &old));
	for (int flags = 0; flags < 2; flags++) {
		action.sa_flags = SA_SIGINFO | (flags ? SA_NOCLDSTOP : 0);
		MUST(!sigaction(SIGCHLD, &action, NULL));
		fflush(stdout);
		child = fork();
		MUST(child >= 0);
		if (!child)
			for (;;)
				pause();
		MUST(!kill(child, SIGSTOP));
		if (!flags)
			await(&old);
		MUST(!waitid(P_PID, (id_t)child, NULL, WSTOPPED));
		MUST(!kill(child, SIGCONT));
		if (!flags)
			await(&old);
		MUST(!waitid(P_PID, (id_t)child, NULL, WCONTINUED));
		MUST(!kill(child, SIGTERM));
		await(&old);
		MUST(!waitid(P_PID, (id_t)child, NULL, WEXITED));
		fflush(stdout);
		child = fork();
		if (!child)
			_exit(77);
		await(&old);
		MUST(waitpid(child, NULL, 0) == child);
	}
	return 0;
}
