/* A process with MB of memory, half of it random.  argv: MB.  Prints `turn SECONDS` every 20 ms: the longest time in which
 * it did not run since the last one. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	const size_t words = (size_t)(argc > 1 ? atol(argv[1]) : 1) * (1 << 20) / sizeof(uint64_t);
	uint64_t *memory = malloc(words * sizeof(*memory)), seed = 88172645463325252u;

	if (!memory)
		return 1;
	for (size_t i = 0; i < words; i++) {
		seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
		memory[i] = i < words / 2 ? seed : i % 1000;
	}
	for (double last = now(), said = last, longest = 0;;) {
		const double at = now();

		memory[(size_t)(at * 1e6) % words]++;
		longest = at - last > longest ? at - last : longest;
		last = at;
		if (at - said > 0.02) {
			printf("turn %.6f\n", longest);
			fflush(stdout);
			said = at;
			longest = 0;
		}
	}
}
