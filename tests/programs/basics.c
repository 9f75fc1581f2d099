/* What nearly every program does: time, random numbers, files, heap, standard output. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

int main(int argc, char **argv)
{
	unsigned char bytes[64];
	struct timespec ts;
	int values[200];
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	srand((unsigned)(ts.tv_nsec ^ bytes[0]));
	char **blocks = calloc(200, sizeof(*blocks));
	for (int i = 0; i < 200; i++) {
		values[i] = rand();
		size_t size = 16 + (size_t)(rand() % 5000);
		blocks[i] = malloc(size);
		memset(blocks[i], rand(), size);
		if (i % 3 == 0) {
			free(blocks[i / 2]);
			blocks[i / 2] = NULL;
		}
	}
	qsort(values, 200, sizeof(values[0]), compare);
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	int lines = 0;
	while (f && fgets(line, sizeof(line), f))
		lines++;
	if (f)
		fclose(f);
	printf("%s %d pid %d at %ld lines %d least %d\n", argv[0], argc, getpid(), (long)time(NULL), lines, values[0]);
	return 3;
}
