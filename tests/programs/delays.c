/* Waits for a time by looking at a clock again and again: `delays WAY`.  Who takes stamps or counts turns does more than that. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <x86intrin.h>

enum { DELAY_US = 300000, STAMPS = 200000 };

static int64_t us(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return now.tv_sec * 1000000ll + now.tv_nsec / 1000;
}

static int64_t of_day(void)
{
	struct timeval now;
	gettimeofday(&now, NULL);
	return now.tv_sec * 1000000ll + now.tv_usec;
}

static volatile sig_atomic_t rung;

static void ring(int sig)
{
	(void)sig;
	rung = 1;
}

static int until_a_signal(void)
{
	const struct itimerval soon = {.it_value.tv_usec = DELAY_US};
	signal(SIGALRM, ring);
	setitimer(ITIMER_REAL, &soon, NULL);
	const int64_t end = us(CLOCK_MONOTONIC) + 100ll * DELAY_US;
	while (!rung && us(CLOCK_MONOTONIC) < end)
		;
	return rung;
}

static void *in_a_thread(void *arg)
{
	const int64_t end = us(CLOCK_MONOTONIC) + DELAY_US;
	while (us(CLOCK_MONOTONIC) < end)
		;
	return arg;
}

static int beside_one_that_sleeps(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, in_a_thread, NULL);
	return !pthread_join(thread, NULL);
}

/* What has been read is kept: it is told each time.  Who is made to wait reads every 50 us soon. */
static int stamps(void)
{
	static int64_t read[STAMPS];
	int quick = 0;
	for (int i = 0; i < STAMPS; i++)
		read[i] = us(CLOCK_MONOTONIC);
	for (int i = 1; i < STAMPS; i++)
		quick += read[i] - read[i - 1] < 20;
	return quick > STAMPS / 2;
}

static int64_t busy_us(void)
{
	struct rusage used;
	getrusage(RUSAGE_SELF, &used);
	return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000ll + used.ru_utime.tv_usec + used.ru_stime.tv_usec;
}

/* Only how often is counted, of readings by the clock or by the processor's counter.  Who is made to wait is busy. */
static int turns(int ticks)
{
	struct timespec now;
	const int64_t begin = busy_us();
	if (ticks)
		for (int i = 0; i < STAMPS; i++)
			__rdtsc();
	else
		for (int i = 0; i < STAMPS; i++)
			clock_gettime(CLOCK_MONOTONIC, &now);
	return busy_us() - begin < 20ll * STAMPS;
}

static int counter(void)
{
	const uint64_t begin = __rdtsc();
	while (__rdtsc() - begin < 1000ull * DELAY_US)
		;
	return 1;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	int fine = 1;
	if (!strcmp(way, "signal"))
		fine = until_a_signal();
	else if (!strcmp(way, "thread"))
		fine = beside_one_that_sleeps();
	else if (!strcmp(way, "stamps"))
		fine = stamps();
	else if (!strcmp(way, "turns") || !strcmp(way, "ticks"))
		fine = turns(way[1] == 'i');
	else if (!strcmp(way, "rdtsc"))
		fine = counter();
	else if (!strcmp(way, "day"))
		for (const int64_t begin = of_day(); of_day() - begin < DELAY_US;)
			;
	else
		for (const int64_t begin = us(CLOCK_REALTIME); us(CLOCK_REALTIME) - begin < DELAY_US;)
			;
	puts(fine ? "fine" : "wrong");
	return !fine;
}
