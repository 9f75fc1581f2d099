/* Signals while it polls memory and while it sleeps; the handler looks at memory that the peer writes. */
#include <signal.h>
#include <sys/time.h>
#include "verbs_pair.h"

enum { ROUNDS = 60 };

static volatile unsigned long ticks, seen;
static const volatile char *watched;

static void tick(int sig)
{
	(void)sig;
	ticks++;
	seen += (unsigned long)*watched;
}

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	pair_up(argv, false);
	watched = it.buffer;
	signal(SIGALRM, tick);
	struct itimerval every = {{0, 3000}, {0, 3000}};
	setitimer(ITIMER_REAL, &every, NULL);
	volatile uint64_t *in = (void *)it.buffer;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		if (it.server)
			while (*in != round)
				;
		*(uint64_t *)(it.buffer + 4096) = round;
		post(round, IBV_WR_RDMA_WRITE, 4096, 8, 0);
		if (!it.server)
			while (*in != round)
				;
		succeed(round);
		if (round % 10 == 0)
			usleep(5000);
	}
	every = (struct itimerval){0};
	setitimer(ITIMER_REAL, &every, NULL);
	printf("ticks: %s\n", ticks ? "yes" : "no");
	part();
	return 0;
}
