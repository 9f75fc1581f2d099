/* sigaction(2): with SA_NOCLDWAIT children leave no zombie: wait blocks until all are gone, then ECHILD. */
#include "../observe.h"
#include <signal.h>
#include <sys/wait.h>

static volatile sig_atomic_t count;

static void handler(int sig)
{
	(void)sig;
	count = 1;
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_NOCLDWAIT | SA_RESTART};
	int status = 0x1234;

	MUST(!sigaction(SIGCHLD, &action, NULL));
	for (int i = 0; i < 3; i++)
		if (!fork())
			_exit(i);
	SAY(waitpid(-1, &status, 0));
	printf("status %x handled %d\n", status, count);
	action.sa_handler = SIG_IGN;
	action.sa_flags = 0;
	MUST(!sigaction(SIGCHLD, &action, NULL));
	pid_t child = fork();
	if (!child)
		_exit(9);
	SAY(waitpid(child, &status, 0));
	return 0;
}
