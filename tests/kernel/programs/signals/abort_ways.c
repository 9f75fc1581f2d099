/* abort(3): ends by SIGABRT although it is ignored or blocked, or its handler returns; a jump out of the handler goes on. */
#include "../observe.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>

static jmp_buf back;

static void returns(int sig)
{
	printf("handler %d\n", sig);
	fflush(stdout);
}

static void jumps(int sig)
{
	longjmp(back, sig);
}

int main(void)
{
	sigset_t set;
	int status;

	for (int way = 0; way < 4; way++) {
		fflush(stdout);
		pid_t child = fork();
		MUST(child >= 0);
		if (!child) {
			if (way == 0)
				signal(SIGABRT, SIG_IGN);
			if (way == 1) {
				sigfillset(&set);
				sigprocmask(SIG_BLOCK, &set, NULL);
			}
			if (way == 2)
				signal(SIGABRT, returns);
			if (way == 3)
				signal(SIGABRT, jumps);
			if (!setjmp(back))
				abort();
			_exit(5);
		}
		MUST(waitpid(child, &status, 0) == child);
		printf("%d: signaled %d exit %d\n", way, WIFSIGNALED(status) ? WTERMSIG(status) : 0,
		       WEXITSTATUS(status));
	}
	return 0;
}
