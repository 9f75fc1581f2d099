/* fork(2): the child's set of pending signals is empty, its mask and actions are the parent's, its timers are off. */
#include "../observe.h"
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

static void handler(int sig)
{
	printf("handler %d\n", sig);
}

int main(void)
{
	struct itimerval long_time = {.it_value = {.tv_sec = 1000}}, got;
	sigset_t set, pending;
	int status;
	pid_t child;

	signal(SIGUSR1, handler);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGUSR1);
	MUST(!setitimer(ITIMER_REAL, &long_time, NULL));
	child = fork();
	MUST(child >= 0);
	if (!child) {
		sigpending(&pending);
		printf("child pending %d\n", sigismember(&pending, SIGUSR1));
		sigprocmask(SIG_BLOCK, NULL, &pending);
		printf("child blocked %d\n", sigismember(&pending, SIGUSR1));
		getitimer(ITIMER_REAL, &got);
		printf("child timer %ld\n", (long)got.it_value.tv_sec);
		SAY(alarm(0));
		raise(SIGUSR1);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		fflush(stdout);
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
	sigpending(&pending);
	printf("parent pending %d timer %d\n", sigismember(&pending, SIGUSR1), alarm(0) > 900);
	return 0;
}
