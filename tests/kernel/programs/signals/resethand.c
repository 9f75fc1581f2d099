/* sigaction(2): with SA_RESETHAND the action is the default one again when the handler is entered. */
#include "../observe.h"
#include <signal.h>
#include <sys/wait.h>

static void handler(int sig)
{
	struct sigaction now;

	MUST(!sigaction(sig, NULL, &now));
	printf("in handler: default %d flags %x\n", now.sa_handler == SIG_DFL, (unsigned)now.sa_flags);
	fflush(stdout);
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESETHAND | SA_RESTART};
	int status;
	pid_t child = fork();

	MUST(child >= 0);
	if (!child) {
		MUST(!sigaction(SIGTERM, &action, NULL));
		raise(SIGTERM);
		raise(SIGTERM);
		_exit(1);
	}
	MUST(waitpid(child, &status, 0) == child);
	printf("signaled %d by %d\n", WIFSIGNALED(status), WTERMSIG(status));
	action.sa_flags = SA_RESETHAND | SA_NODEFER;
	MUST(!sigaction(SIGCHLD, &action, NULL));
	raise(SIGCHLD);
	raise(SIGCHLD);
	return 0;
}
