/* A signal that comes while the program computes, shortly before calls that do not wait: none of them is interrupted,
 * though its handler was installed without SA_RESTART. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum { TRIES = 60, TURNS = 60000 };

static volatile sig_atomic_t heard;
static volatile long turns;

static void on_alarm(int sig)
{
	(void)sig;
	heard++;
}

/* Longer at each try: the signal has come by then, at one of them just before. */
static void compute(int try)
{
	struct itimerval soon = {{0, 0}, {0, 500}};
	if (setitimer(ITIMER_REAL, &soon, NULL))
		abort();
	for (turns = 0; turns < (long)try * TURNS;)
		turns++;
}

static void failed(const char *call, int try)
{
	printf("%s, try %d: errno %d\n", call, try, errno);
	exit(1);
}

int main(void)
{
	struct sigaction how = {.sa_handler = on_alarm};
	if (sigaction(SIGALRM, &how, NULL))
		return 1;
	for (int try = 0; try < TRIES; try++) {
		struct stat st;
		int fds[2];
		char c = 'x';
		if (pipe(fds))
			return 1;
		compute(try);
		if (write(fds[1], &c, 1) != 1)
			failed("write", try);
		compute(try);
		if (close(fds[1]))
			failed("close", try);
		compute(try);
		if (fstat(fds[0], &st))
			failed("fstat", try);
		if (read(fds[0], &c, 1) != 1)
			failed("read", try);
		compute(try);
		if (read(fds[0], &c, 1) != 0) /* its end: the other one is closed */
			failed("read at the end", try);
		if (close(fds[0]))
			failed("close", try);
	}
	printf("heard %s\n", heard > TRIES ? "many" : "few");
	return 0;
}
