/* sigsetjmp(3): a jump out of nested handlers restores the mask if it was saved, and leaves it if not. */
#include "../observe.h"
#include <setjmp.h>
#include <signal.h>

static sigjmp_buf outer;

static int blocked(int sig)
{
	sigset_t set;

	sigprocmask(SIG_BLOCK, NULL, &set);
	return sigismember(&set, sig);
}

static void handler(int sig)
{
	if (sig == SIGUSR1)
		raise(SIGUSR2);
	siglongjmp(outer, sig);
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler};
	volatile int save;
	int how;

	MUST(!sigaction(SIGUSR1, &action, NULL) && !sigaction(SIGUSR2, &action, NULL));
	for (save = 1; save >= 0; save--) {
		how = sigsetjmp(outer, save);
		printf("%d: %d blocked %d %d\n", save, how, blocked(SIGUSR1), blocked(SIGUSR2));
		if (!how)
			raise(SIGUSR1);
	}
	raise(SIGUSR2);
	printf("pending\n");
	return 0;
}
