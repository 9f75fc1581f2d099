/* getrlimit(2): a process past its soft limit of processor time gets SIGXCPU; without a handler that ends it. */
#include "../observe.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

static volatile sig_atomic_t seen;

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	seen = info->si_code == SI_KERNEL ? 1 : 2;
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	struct itimerval used = {.it_value = {.tv_usec = 20000}};
	int status;

	MUST(!sigaction(SIGPROF, &action, NULL) && !sigaction(SIGVTALRM, &action, NULL));
	MUST(!setitimer(ITIMER_PROF, &used, NULL));
	while (!seen)
		;
	printf("prof %d\n", seen);
	seen = 0;
	MUST(!setitimer(ITIMER_VIRTUAL, &used, NULL));
	while (!seen)
		;
	printf("virtual %d\n", seen);
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		raise(SIGXCPU);
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
	printf("signaled %d by %d\n", WIFSIGNALED(status), WTERMSIG(status));
	return 0;
}
