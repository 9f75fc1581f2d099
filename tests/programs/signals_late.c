/* Signals that come about when the last system call before a computation returns: each of them is heard in it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum { ROUNDS = 4000, CALLS = 40, TURNS = 400000000 };

static volatile sig_atomic_t heard;
static volatile long turns;

static void on_alarm(int sig)
{
	(void)sig;
	heard++;
}

int main(void)
{
	struct sigaction how = {.sa_handler = on_alarm};
	const struct itimerval soon = {{0, 0}, {0, 20}};
	if (sigaction(SIGALRM, &how, NULL))
		return 1;
	for (int round = 0; round < ROUNDS; round++) {
		const int before = heard;
		if (setitimer(ITIMER_REAL, &soon, NULL))
			return 1;
		for (int call = rand() % CALLS; call > 0 && heard == before; call--)
			syscall(SYS_getppid);
		for (turns = 0; heard == before && turns < TURNS;)
			turns++;
		if (heard == before) {
			printf("not heard in round %d\n", round);
			return 1;
		}
	}
	puts("all were heard");
	return 0;
}
