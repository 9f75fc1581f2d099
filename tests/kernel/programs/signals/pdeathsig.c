/* prctl(2): PR_SET_PDEATHSIG sends the child a signal when the thread that made it ends; fork clears it. */
#include "../observe.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

int main(void)
{
	int fds[2], value = 0, status;
	sigset_t set;
	siginfo_t info;
	pid_t middle;
	char c;

	MUST(!pipe(fds));
	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	middle = fork();
	if (!middle) {
		int ready[2];
		MUST(!pipe(ready));
		if (!fork()) {
			SAY(prctl(PR_SET_PDEATHSIG, SIGUSR1));
			SAY(prctl(PR_GET_PDEATHSIG, &value));
			printf("%d\n", value);
			SAY(prctl(PR_SET_PDEATHSIG, 77));
			fflush(stdout);
			if (!fork()) {
				prctl(PR_GET_PDEATHSIG, &value);
				_exit(value);
			}
			MUST(wait(&status) > 0);
			printf("its child: %d\n", WEXITSTATUS(status));
			sigemptyset(&set);
			sigaddset(&set, SIGUSR1);
			fflush(stdout);
			MUST(write(ready[1], "r", 1) == 1);
			SAY(sigwaitinfo(&set, &info));
			printf("code %d\n", info.si_code);
			fflush(stdout);
			_exit(0);
		}
		MUST(read(ready[0], &c, 1) == 1);
		_exit(0);
	}
	close(fds[1]);
	MUST(read(fds[0], &c, 1) == 0);
	MUST(waitpid(middle, &status, 0) == middle);
	return 0;
}
