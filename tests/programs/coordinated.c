/* Steps that write to a file, and half-way a wait for a file that a test makes: argv: steps, output, gate. */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t ticks;

static void tick(int sig)
{
	ticks += sig != 0;
}

int main(int argc, char **argv)
{
	const int steps = atoi(argv[1]);
	uint64_t sum = 0, *field = calloc(steps, sizeof(*field));
	struct itimerval every = {{0, 20000}, {0, 20000}};
	int ends[2], extra;
	char word[16] = "";
	FILE *out = fopen(argv[2], "w");

	signal(SIGALRM, tick);
	setitimer(ITIMER_REAL, &every, NULL);
	if (!out || pipe(ends) || write(ends[1], "kept", 5) != 5 || (extra = dup(fileno(out))) < 0)
		return 3;
	for (int i = 0; i < steps; i++) {
		for (int k = 0; k < 200000; k++)
			sum = sum * 6364136223846793005u + 1442695040888963407u;
		field[i] = sum;
		fprintf(out, "%d %lu\n", i, (unsigned long)sum);
		fflush(out);
		if (i == steps / 2) {
			printf("half\n");
			fflush(stdout);
			while (access(argv[3], F_OK))
				for (volatile int k = 0; k < 1000000; k++)
					;
			for (int before = ticks; ticks == before;)
				pause(); /* the timer goes on */
		}
	}
	for (int i = 0; i < steps; i++)
		sum ^= field[i];
	if (read(ends[0], word, sizeof(word)) != 5 || strcmp(word, "kept") || write(extra, "end\n", 4) != 4)
		return 4;
	fclose(out);
	printf("sum %lu\n", (unsigned long)sum);
	return 0;
}
