/* Three checkpoints without a log, each whole before the next step, a file that is written to, and a sum at the end. */
#include <stdio.h>
#include <unistd.h>
#include "../../interposer/include/rdb.h"

enum { WORDS = 20000 };

static unsigned long field[WORDS];

int main(void)
{
	FILE *out = fopen("steps", "w");
	unsigned long sum = 0;
	char commit[32];

	for (int step = 1; out && step <= 3; step++) {
		for (int i = 0; i < WORDS; i++)
			sum = field[i] = sum * 6364136223846793005u + 1442695040888963407u + (unsigned long)i;
		fprintf(out, "%d %lu\n", step, sum);
		fflush(out);
		if (rdb_checkpoint())
			return 2;
		snprintf(commit, sizeof(commit), "job/commit-%d", step);
		while (access(commit, F_OK))
			usleep(1000);
	}
	printf("%lu\n", sum);
	return !out;
}
