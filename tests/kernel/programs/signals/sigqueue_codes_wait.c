/* sigwaitinfo(2): what came from a child, a timer, a thread and a process is told apart, with the sender's number. */
#include "../observe.h"
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

int main(void)
{
	struct itimerspec now = {.it_value = {0, 1}};
	siginfo_t info;
	timer_t timer;
	sigset_t set;
	int status;

	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	MUST(!timer_create(CLOCK_MONOTONIC, NULL, &timer) && !timer_settime(timer, 0, &now, NULL));
	MUST(sigwaitinfo(&set, &info) == SIGALRM);
	printf("timer: code %d value is the id %d\n", info.si_code, info.si_value.sival_int == (int)(long)timer);
	MUST(!pthread_kill(pthread_self(), SIGTERM));
	MUST(sigwaitinfo(&set, &info) == SIGTERM);
	printf("thread: code %d me %d\n", info.si_code, info.si_pid == getpid());
	pid_t child = fork();
	if (!child) {
		kill(getppid(), SIGUSR1);
		sigqueue(getppid(), SIGUSR2, (union sigval){.sival_int = 6});
		_exit(44);
	}
	MUST(!waitid(P_PID, (id_t)child, NULL, WEXITED | WNOWAIT));
	for (int i = 0; i < 3; i++) {
		int sig = sigwaitinfo(&set, &info);
		printf("%d: code %d child %d uid %d status %d\n", sig, info.si_code, info.si_pid == child,
		       info.si_uid == getuid(), sig == SIGCHLD ? info.si_status : 0);
	}
	MUST(waitpid(child, &status, 0) == child);
	return 0;
}
