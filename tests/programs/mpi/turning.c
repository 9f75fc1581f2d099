/* Each rank's values turn at the rounds that it is told: turning SEED.  tests/timeline/test_bisect_oracle.py
 * draws the same rounds. */
#include "check.h"

#define ROUNDS 40
enum { STATIC, LOCAL, ELEMENT, RECEIVED, KINDS };

static unsigned state;
static double level = 1;
static struct {
	int steps;
	double values[8];
} grid = {0, {1, 1, 1, 1, 1, 1, 1, 1}};
static int turns[KINDS];

static unsigned draw(unsigned limit)
{
	state = state * 1103515245u + 12345u;
	return (state >> 16) % limit;
}

static void play(void)
{
	double local = 1, got = 1;
	for (int round = 1; round <= ROUNDS; round++) {
		double mine = round < turns[RECEIVED] ? 1 : -1;
		if (round == turns[STATIC])
			level = -1;
		if (round == turns[LOCAL])
			local = -1;
		if (round == turns[ELEMENT])
			grid.values[5] = -1;
		OK(MPI_Sendrecv(&mine, 1, MPI_DOUBLE, (rank + 1) % size, 7, &got, 1, MPI_DOUBLE,
				(rank + size - 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
		grid.steps = round;
	}
	CHECK(local * got != 0);
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	state = (unsigned)atoi(argv[1]) * 64u + (unsigned)rank;
	for (int kind = 0; kind < KINDS; kind++)
		turns[kind] = (int)draw(ROUNDS + ROUNDS / 4) + 2; /* beyond the last round: never */
	play();
	return end();
}
