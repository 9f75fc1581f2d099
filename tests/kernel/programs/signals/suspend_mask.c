/* sigsuspend(2): the mask counts while it waits; the handler runs with it, and the old mask is back afterwards. */
#include "../observe.h"
#include <signal.h>

static void show(const char *where)
{
	sigset_t set;

	sigprocmask(SIG_BLOCK, NULL, &set);
	printf("%s:", where);
	for (int s = 1; s <= 64; s++)
		if (sigismember(&set, s) == 1)
			printf(" %d", s);
	printf("\n");
}

static void handler(int sig)
{
	printf("handler of %d\n", sig);
	show("in it");
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler};
	sigset_t block, mask;

	MUST(!sigaction(SIGUSR1, &action, NULL) && !sigaction(SIGUSR2, &action, NULL));
	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	sigaddset(&block, SIGUSR2);
	sigprocmask(SIG_BLOCK, &block, NULL);
	raise(SIGUSR2);
	raise(SIGUSR1);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	sigaddset(&mask, SIGHUP);
	SAY(sigsuspend(&mask));
	show("between");
	sigpending(&mask);
	printf("pending %d %d\n", sigismember(&mask, SIGUSR1), sigismember(&mask, SIGUSR2));
	sigemptyset(&mask);
	raise(SIGUSR1);
	SAY(sigsuspend(&mask));
	show("after");
	return 0;
}
