/* sigaction(2): with SA_NODEFER a handler may be interrupted by its own signal, and each returns to the one before. */
#include "../observe.h"
#include <signal.h>
#include <ucontext.h>

static int depth;

static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	int mine = ++depth;

	printf("in %d value %d blocked %d\n", mine, info->si_value.sival_int, sigismember(&u->uc_sigmask, sig));
	if (mine < 5)
		sigqueue(getpid(), sig, (union sigval){.sival_int = mine});
	printf("out %d\n", mine);
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_NODEFER};

	MUST(!sigaction(SIGRTMIN + 4, &action, NULL));
	sigqueue(getpid(), SIGRTMIN + 4, (union sigval){.sival_int = 0});
	printf("depth %d\n", depth);
	return 0;
}
