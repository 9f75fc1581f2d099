/* setcontext(3), swapcontext(3): contexts that functions made, with stacks of their own, and their masks. */
#include "../observe.h"
#include <signal.h>
#include <ucontext.h>

static ucontext_t first, second, third;
static char stacks[2][65536];

static void runs(int a, int b)
{
	sigset_t set;

	sigprocmask(SIG_BLOCK, NULL, &set);
	printf("function %d %d blocked %d\n", a, b, sigismember(&set, SIGUSR1));
	if (a == 1) {
		MUST(!swapcontext(&second, &third));
		printf("back in the first function\n");
	}
}

int main(void)
{
	sigset_t set;

	MUST(!getcontext(&second) && !getcontext(&third));
	second.uc_stack.ss_sp = stacks[0];
	third.uc_stack.ss_sp = stacks[1];
	second.uc_stack.ss_size = third.uc_stack.ss_size = sizeof stacks[0];
	second.uc_link = &first;
	third.uc_link = &second;
	sigaddset(&third.uc_sigmask, SIGUSR1);
	makecontext(&second, (void (*)(void))runs, 2, 1, 10);
	makecontext(&third, (void (*)(void))runs, 2, 2, 20);
	MUST(!swapcontext(&first, &second));
	sigprocmask(SIG_BLOCK, NULL, &set);
	printf("at the end, blocked %d\n", sigismember(&set, SIGUSR1));
	return 0;
}
