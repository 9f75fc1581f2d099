/* Rounds with an event each, a counter that some of them change and a value that turns bad once:
 * many_rounds ROUNDS */
#include <stdlib.h>
#include <unistd.h>

volatile long changed, last_round, bad;

static void visit(long round)
{
	getppid();
	if (round % 7 == 0)
		changed++;
	if (round % 50 == 0)
		changed += 2;
	last_round = round;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1000;

	for (long round = 1; round <= rounds; round++) {
		visit(round);
		if (round == rounds * 2 / 3)
			bad = 1;
	}
	return 0;
}
