/* Arrays of every storage, and system calls from several places: a static, locals of two functions, memory that grows
 * and goes. */
#include <stdlib.h>
#include <unistd.h>

static double limit = 2;
static double fixed[8];
static double *grown;
static int n;

__attribute__((noinline)) static void inner(const double *w, int at)
{
	double seen[3] = {w[0], w[1], at};
	getppid();
	seen[0] += 1;
	if (at % 3 == 0)
		inner(w, at - 1);
	getpgrp();
	fixed[at % 8] += seen[0] / 64;
}

int main(void)
{
	double here[4] = {0, 1, 2, 3};
	for (int i = 0; i < 24; i++) {
		here[i % 4] = i;
		if (i % 5 == 2) {
			n = i;
			grown = realloc(grown, n * sizeof(*grown));
			for (int k = 0; k < n; k++)
				grown[k] = k - 3;
			getuid();
		}
		if (i == 17)
			limit = -1;
		getppid();
		inner(here, i);
		if (i % 2)
			getgid();
		if (i == 20) {
			free(grown);
			grown = NULL;
		}
	}
	return 0;
}
