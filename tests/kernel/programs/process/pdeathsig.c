/* prctl(2): PR_SET_PDEATHSIG sends the signal when the parent ends; it is cleared for a child. */
#include "../observe.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

int main(void)
{
	int sig, how, ready[2];
	sigset_t set;
	char c;

	MUST(!prctl(PR_SET_CHILD_SUBREAPER, 1) && !pipe(ready));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	SAY(prctl(PR_SET_PDEATHSIG, 100));
	pid_t pid = fork();
	if (!pid) {
		if (!fork()) {
			MUST(!prctl(PR_SET_PDEATHSIG, SIGUSR1) && !prctl(PR_GET_PDEATHSIG, &sig));
			MUST(write(ready[1], "", 1) == 1);
			int got = 0;
			sigwait(&set, &got);
			_exit(got == SIGUSR1 ? sig : 1);
		}
		MUST(read(ready[0], &c, 1) == 1);
		_exit(!!prctl(PR_GET_PDEATHSIG, &sig) + sig);
	}
	MUST(waitpid(pid, &how, 0) == pid);
	printf("%d\n", WEXITSTATUS(how));
	OK(waitpid(-1, &how, 0));
	printf("%d\n", WEXITSTATUS(how) == SIGUSR1);
	return 0;
}
