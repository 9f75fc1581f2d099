/* Real-time signals are queued while they are blocked, in order and each with its value; others are not. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile int sum, handled, order = 1;

static void handler(int sig, siginfo_t *info, void *context)
{
	handled++;
	if (sig == SIGUSR1)
		return;
	order = order && info->si_value.sival_int == sum;
	sum++;
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 1);
	sigaddset(&set, SIGUSR1);
	sigaction(SIGRTMIN + 1, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < 20; i++) {
		sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = i});
		kill(getpid(), SIGUSR1);
	}
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	printf("%d handled, %d queued, in order %d\n", handled, sum, order);
	return 0;
}
