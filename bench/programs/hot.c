/* Long computations without an event to go back and forth in: hot TURNS.  Two loops, an event between
 * them, a place in each that is arrived at every turn, and a region that is written to all over. */
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

volatile uint64_t sum, turn;
volatile uint64_t region[64];

void visit(uint64_t i)
{
	turn = i;
	sum += i * i;
}

void dense(uint64_t turns)
{
	for (uint64_t i = 0; i < turns; i++)
		visit(i);
}

void tight(uint64_t turns)
{
	for (uint64_t i = 0; i < turns; i++)
		sum += i ^ sum >> 3;
}

void spread(uint64_t turns)
{
	for (uint64_t i = 0; i < turns; i++)
		region[i * 61 % 64] = i;
}

void ready(void)
{
	getppid();
}

int main(int argc, char **argv)
{
	uint64_t turns = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;

	ready();
	dense(turns / 10);
	ready();
	tight(turns);
	ready();
	spread(turns / 1000);
	ready();
	return 0;
}
