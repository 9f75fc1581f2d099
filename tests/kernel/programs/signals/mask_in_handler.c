/* sigaction(2): in a handler the signal itself and sa_mask are blocked; with SA_NODEFER only sa_mask. */
#include "../observe.h"
#include <signal.h>

static int depth, level;

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
	printf("%*s> %d\n", level++ * 2, "", sig);
	show("mask");
	if (++depth < 3) {
		raise(SIGUSR1);
		raise(SIGUSR2);
		raise(SIGHUP);
	}
	printf("%*s< %d\n", --level * 2, "", sig);
}

static void with(int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	sigaddset(&action.sa_mask, SIGHUP);
	sigaddset(&action.sa_mask, SIGKILL);
	MUST(!sigaction(SIGUSR1, &action, NULL));
	sigemptyset(&action.sa_mask);
	MUST(!sigaction(SIGUSR2, &action, NULL) && !sigaction(SIGHUP, &action, NULL));
	depth = 0;
	raise(SIGUSR1);
	show("after");
}

int main(void)
{
	with(0);
	with(SA_NODEFER);
	return 0;
}
