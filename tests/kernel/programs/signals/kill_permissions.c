/* kill(2): EPERM where the sender's user is another one, also for -1 where no process may be sent to. */
#include "../observe.h"
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

int main(void)
{
	union sigval value = {.sival_int = 1};
	int status;
	pid_t child;

	if (geteuid())
		skip("not root");
	child = fork();
	MUST(child >= 0);
	if (!child) {
		MUST(!setresgid(65533, 65533, 65533) && !setresuid(65533, 65533, 65533));
		SAY(kill(1, 0));
		SAY(kill(1, SIGTERM));
		SAY(kill(getppid(), SIGCONT));
		SAY(sigqueue(getppid(), SIGUSR1, value));
		SAY(syscall(SYS_tgkill, getppid(), getppid(), SIGUSR1));
		SAY(kill(-1, 0));
		SAY(kill(getpid(), 0));
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
	printf("%x\n", status);
	return 0;
}
