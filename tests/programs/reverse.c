/* For going back and forth under GDB; tests name places by the comments with @. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

int total;
int counter;
int good = 1;
int stages;
char buffer[32];
uint64_t random_word;
uint64_t cycles;
struct timespec now;

static int fact(int n)
{
	if (n <= 1) /* @fact-first */
		return 1;
	int below = fact(n - 1); /* @fact-call */
	return n * below;        /* @fact-return */
}

/* Without a value: the line of its call is one piece, which GDB 13 needs to go back over it. */
static void twice(int n)
{
	int result = 2 * n; /* @twice-first */
	total = result;     /* @twice-last */
}

static int compare(const void *a, const void *b)
{
	const int *x = a, *y = b; /* @compare */
	return *x - *y;
}

static void tick(int i)
{
	counter += i; /* @tick */
}

static void alternate(void)
{
	good = 0; /* @bad-1 */
	getppid();
	good = 1;
	getppid();
	good = 0; /* @bad-2 */
	getppid();
}

static void files(const char *path)
{
	int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);
	write(fd, "one two three", 13); /* @write */
	lseek(fd, 4, SEEK_SET);
	read(fd, buffer, 3); /* @read */
	close(fd);
	fd = open(path, O_WRONLY | O_APPEND);
	write(fd, " four", 5); /* @append */
	close(fd);
	stages++; /* @files-done */
}

int main(int argc, char **argv)
{
	int numbers[] = {5, 3, 4, 1, 2};
	total = fact(5); /* @main-fact */
	stages++;        /* @after-fact */
	twice(4); /* @main-twice */
	stages++; /* @after-twice */
	qsort(numbers, 5, sizeof(*numbers), compare); /* @qsort */
	for (int i = 0; i < 1000; i++)
		tick(i); /* @main-tick */
	stages++; /* @after-ticks */
	total = 7;
	total = total; /* @same */
	stages++;
	total = 8; /* @eight */
	files(argc > 1 ? argv[1] : "/dev/null");
	clock_gettime(CLOCK_REALTIME, &now); /* @clock */
	getrandom(&random_word, sizeof(random_word), 0);
	cycles = __rdtsc();
	stages++; /* @gathered */
	printf("counter %d total %d\n", counter, total);
	fflush(stdout); /* @flush */
	alternate();
	return numbers[0] - 1; /* @end */
}
