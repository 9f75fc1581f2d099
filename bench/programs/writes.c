/* Writes a block to the beginning of a file, again and again: writes FILE BLOCK TURNS [BLOCK TURNS ...].
 * Prints, for each block size, the seconds of one write: the median of ten parts of the turns.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PARTS = 10 };

static double now_s(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static int measure(int fd, size_t block, int turns)
{
	double parts[PARTS];
	int each = turns / PARTS > 0 ? turns / PARTS : 1;
	char *buffer = malloc(block);

	memset(buffer, 1, block);
	for (int p = 0; p < PARTS; p++) {
		double start = now_s();
		for (int i = 0; i < each; i++) {
			buffer[0]++;
			if (pwrite(fd, buffer, block, 0) != (ssize_t)block)
				return 1;
		}
		parts[p] = (now_s() - start) / each;
	}
	qsort(parts, PARTS, sizeof(*parts), ascending);
	printf("%zu %.9e\n", block, (parts[PARTS / 2 - 1] + parts[PARTS / 2]) / 2);
	free(buffer);
	return 0;
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	if (fd < 0)
		return 2;
	for (int i = 2; i + 1 < argc; i += 2)
		if (measure(fd, (size_t)atol(argv[i]), atoi(argv[i + 1])))
			return 1;
	return 0;
}
