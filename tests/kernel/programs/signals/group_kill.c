/* kill(2): a negative number sends to a process group, 0 to the caller's own; ESRCH where the group is empty. */
#include "../observe.h"
#include <signal.h>
#include <sys/wait.h>

static void handler(int sig)
{
	_exit(sig);
}

int main(void)
{
	int ready[2], status, ended = 0;
	pid_t children[3];
	sigset_t set;
	char c;

	MUST(!pipe(ready));
	MUST(!setpgid(0, 0) || errno == EPERM);
	for (int i = 0; i < 3; i++) {
		children[i] = fork();
		MUST(children[i] >= 0);
		if (!children[i]) {
			setpgid(0, i ? getppid() : 0);
			if (i == 0)
				setpgid(0, 0);
			signal(SIGUSR1, handler);
			signal(SIGUSR2, handler);
			MUST(write(ready[1], "r", 1) == 1);
			for (;;)
				pause();
		}
	}
	for (int i = 0; i < 3; i++)
		MUST(read(ready[0], &c, 1) == 1);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	MUST(!sigprocmask(SIG_BLOCK, &set, NULL));
	SAY(kill(0, SIGUSR1));
	SAY(sigwaitinfo(&set, NULL));
	for (int i = 1; i < 3; i++) {
		MUST(waitpid(children[i], &status, 0) == children[i]);
		printf("%d: %x\n", i, status);
	}
	SAY(kill(-children[0], SIGUSR2));
	MUST(waitpid(children[0], &status, 0) == children[0]);
	printf("0: %x\n", status);
	SAY(kill(-children[0], SIGUSR2));
	SAY(killpg(children[0], 0));
	SAY(killpg(-1, 0));
	SAY(kill(-0x7fffffff, 0));
	SAY(waitpid(-1, &ended, WNOHANG));
	return 0;
}
