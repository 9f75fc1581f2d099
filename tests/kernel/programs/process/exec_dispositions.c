/* execve(2): ignored signals stay ignored, handled ones become default, the mask and pending signals stay. */
#include "../observe.h"
#include <signal.h>

static void nothing(int sig)
{
	(void)sig;
}

int main(int argc, char **argv)
{
	struct sigaction now;
	sigset_t set;

	if (argc > 1) {
		const int signals[] = {SIGUSR1, SIGUSR2, SIGHUP};
		for (int i = 0; i < 3; i++) {
			MUST(!sigaction(signals[i], NULL, &now));
			puts(now.sa_handler == SIG_IGN ? "ignored" : now.sa_handler == SIG_DFL ? "default" : "handled");
		}
		MUST(!sigprocmask(SIG_BLOCK, NULL, &set));
		printf("%d %d\n", sigismember(&set, SIGTERM), sigismember(&set, SIGUSR2));
		MUST(!sigpending(&set));
		printf("%d %d\n", sigismember(&set, SIGTERM), sigismember(&set, SIGUSR2));
		return 0;
	}
	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR2, nothing);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	MUST(!sigprocmask(SIG_BLOCK, &set, NULL) && !raise(SIGTERM));
	execl(argv[0], argv[0], "again", NULL);
	return 1;
}
