/* A rank of a given size to go back and forth in: rank MEGABYTES ROUNDS.
 *
 * It fills its memory, then makes rounds: an event, a function call, some computing, and writes to
 * pages all over the memory, as a solver would.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t *memory;
static size_t words;
volatile uint64_t rounds_done;
uint64_t checksum;

static uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	return x ^ (x >> 29);
}

static void smooth(uint64_t seed)
{
	for (int i = 0; i < 2000; i++) {
		seed = mix(seed + (uint64_t)i);
		checksum += seed;
	}
}

void visit(uint64_t round)
{
	struct timespec ts;
	uint64_t at = mix(round);

	clock_gettime(CLOCK_MONOTONIC, &ts);
	smooth(at);
	for (int i = 0; i < 4; i++) {
		at = mix(at);
		memory[at % words] = checksum + (uint64_t)ts.tv_nsec;
	}
	rounds_done = round;
}

int main(int argc, char **argv)
{
	words = (argc > 1 ? strtoul(argv[1], NULL, 10) : 10) << 17;
	uint64_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;

	memory = malloc(words * sizeof(*memory));
	if (!memory) {
		fprintf(stderr, "rank: out of memory\n");
		return 1;
	}
	for (size_t i = 0; i < words; i++)
		memory[i] = mix(i);
	for (uint64_t round = 1; round <= rounds; round++)
		visit(round);
	return 0;
}
