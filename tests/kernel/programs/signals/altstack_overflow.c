/* sigaltstack(2): the handler of a stack overflow runs on the alternate stack, and may leave by siglongjmp. */
#include "../observe.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>

static sigjmp_buf back;
static char stack[65536];

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)context;
	printf("signal %d code %d\n", sig, info->si_code);
	siglongjmp(back, 1);
}

__attribute__((noinline)) static int deeper(int n)
{
	volatile char room[4096];

	if (n > 1 << 20)
		return 0;
	room[n % 4096] = (char)n;
	return deeper(n + 1) + room[0];
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_ONSTACK | SA_SIGINFO};
	stack_t set = {.ss_sp = stack, .ss_size = sizeof stack};
	struct rlimit limit = {1 << 20, 1 << 20};

	MUST(!setrlimit(RLIMIT_STACK, &limit) && !sigaltstack(&set, NULL) && !sigaction(SIGSEGV, &action, NULL));
	for (volatile int i = 0; i < 3; i++)
		if (!sigsetjmp(back, 1))
			printf("%d\n", deeper(0));
	printf("done\n");
	return 0;
}
