/* sigaction(2): a fault whose signal is blocked or ignored ends the process with that signal. */
#include "../observe.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void faults(int sig)
{
	printf("handler %d\n", sig);
	fflush(stdout);
	*(volatile int *)8 = 1;
}

int main(void)
{
	struct rlimit none = {0, 0};
	sigset_t set;
	int status;

	setrlimit(RLIMIT_CORE, &none);
	for (int way = 0; way < 4; way++) {
		fflush(stdout);
		pid_t child = fork();
		MUST(child >= 0);
		if (!child) {
			sigfillset(&set);
			if (way == 0)
				signal(SIGSEGV, SIG_IGN);
			else
				signal(SIGSEGV, faults);
			if (way == 2)
				sigprocmask(SIG_BLOCK, &set, NULL);
			if (way == 3) {
				signal(SIGFPE, SIG_IGN);
				__asm__ volatile("xor %%eax, %%eax; div %%eax" ::: "rax", "rdx");
			}
			*(volatile int *)0 = 1;
			_exit(5);
		}
		MUST(waitpid(child, &status, 0) == child);
		printf("%d: signaled %d\n", way, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	}
	return 0;
}
