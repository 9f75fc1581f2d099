/* System calls by themselves: calls N.  Prints the seconds that one took. */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 100000;
	struct timespec ts;

	double start = now_s();
	for (long i = 0; i < n; i++)
		syscall(SYS_getppid);
	printf("getppid %.9e\n", (now_s() - start) / (double)n);

	start = now_s();
	for (long i = 0; i < n; i++)
		clock_gettime(CLOCK_REALTIME, &ts);
	printf("clock_gettime %.9e\n", (now_s() - start) / (double)n);

	int ends[2];
	struct pollfd empty = {.events = POLLIN};
	if (pipe(ends))
		return 1;
	empty.fd = ends[0];
	start = now_s();
	for (long i = 0; i < n; i++)
		poll(&empty, 1, 0);
	printf("poll %.9e\n", (now_s() - start) / (double)n);
	return 0;
}
