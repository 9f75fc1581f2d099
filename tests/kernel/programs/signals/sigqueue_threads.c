/* pthread_sigmask(3): a new thread inherits the mask but no pending signal and no alternate stack. */
#include "../observe.h"
#include <pthread.h>
#include <signal.h>

static char stack[65536];

static void *starts(void *arg)
{
	sigset_t set;
	stack_t alt;

	pthread_sigmask(SIG_BLOCK, NULL, &set);
	printf("blocked %d %d\n", sigismember(&set, SIGUSR1), sigismember(&set, SIGUSR2));
	sigpending(&set);
	printf("pending %d %d\n", sigismember(&set, SIGUSR1), sigismember(&set, SIGUSR2));
	sigaltstack(NULL, &alt);
	printf("alternate stack flags %x\n", (unsigned)alt.ss_flags);
	return arg;
}

int main(void)
{
	stack_t alt = {.ss_sp = stack, .ss_size = sizeof stack};
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t set;

	MUST(!sigaltstack(&alt, NULL));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	raise(SIGUSR1);
	MUST(!pthread_create(&thread, NULL, starts, NULL) && !pthread_join(thread, NULL));
	pthread_attr_init(&attr);
	sigaddset(&set, SIGUSR2);
	SAY(pthread_attr_setsigmask_np(&attr, &set));
	MUST(!pthread_create(&thread, &attr, starts, NULL) && !pthread_join(thread, NULL));
	SAY(pthread_kill(pthread_self(), 0));
	SAY(pthread_kill(pthread_self(), 99));
	return 0;
}
