/* Everything that differs from run to run: scenario 23. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static unsigned long long rdtsc(void)
{
	unsigned lo, hi;
	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (unsigned long long)hi << 32 | lo;
}

struct seen {
	long when, nanoseconds, pid;
	unsigned long long ticks;
	unsigned random;
	void *heap, *stack;
};

struct seen seen;

static void look(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	seen.when = (long)time(NULL);
	seen.nanoseconds = ts.tv_nsec;
	seen.pid = getpid();
	seen.ticks = rdtsc();
	if (getrandom(&seen.random, sizeof(seen.random), 0) != (ssize_t)sizeof(seen.random))
		exit(1);
	seen.heap = malloc(100);
	seen.stack = &ts;
}

int main(void)
{
	for (int i = 0; i < 5; i++)
		look();
	printf("%ld %ld %ld %llu %u %p %p %lx\n", seen.when, seen.nanoseconds, seen.pid, seen.ticks, seen.random,
	       seen.heap, seen.stack, *(unsigned long *)getauxval(AT_RANDOM));
	return 0;
}
