/* A loop that never leaves the program: compute TURNS.  Prints the seconds it took. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_s(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

int main(int argc, char **argv)
{
	static double field[4096];
	long turns = argc > 1 ? atol(argv[1]) : 1000;
	double sum = 0, start = now_s();

	for (long t = 0; t < turns; t++)
		for (int i = 1; i < 4095; i++)
			field[i] = .25 * (field[i - 1] + 2 * field[i] + field[i + 1]) + (i & 7);
	double took = now_s() - start;
	for (int i = 0; i < 4096; i++)
		sum += field[i];
	printf("compute %.9e\n", took);
	return sum < 0;
}
