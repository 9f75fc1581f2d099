/* Ends, or is ended, while other threads go on: ends_threads HOW SIGNAL OTHERS ROUNDS */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { OTHERS = 3 };

static atomic_ulong rounds;
static unsigned long enough;
static char large[100000];

static void calls(void)
{
	syscall(SYS_getppid, (long)rounds);
}

static void clocks(void)
{
	struct timespec now;
	for (int i = 0; i < 50; i++)
		clock_gettime(CLOCK_MONOTONIC, &now);
}

static void reads(void)
{
	static int fd = -1;
	if (fd < 0)
		fd = open("/dev/zero", O_RDONLY);
	if (read(fd, large, sizeof(large)) != sizeof(large))
		abort();
}

static void computes(void)
{
	static volatile unsigned long sum;
	for (int i = 0; i < 100000; i++)
		sum += (unsigned long)i;
}

static void sleeps(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
}

static void locks(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&mutex);
	syscall(SYS_sched_yield);
	pthread_mutex_unlock(&mutex);
}

static const struct {
	const char *name;
	void (*fn)(void);
} ways[] = {{"calls", calls},	    {"clocks", clocks}, {"reads", reads},
	    {"computes", computes}, {"sleeps", sleeps}, {"locks", locks}};

static void *other(void *arg)
{
	void (*fn)(void) = arg;
	for (;;) {
		fn();
		rounds++;
	}
}

static void *waits(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void await_rounds(void)
{
	while (rounds < enough)
		nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

int main(int argc, char **argv)
{
	char *const done[] = {"true", NULL};
	const char *how = argv[1];
	const int sig = atoi(argv[2]);
	pthread_t busy, waiting;
	void (*fn)(void) = NULL;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (!strcmp(argv[3], ways[i].name))
			fn = ways[i].fn;
	enough = strtoul(argv[4], NULL, 0);
	if (argc != 5 || !fn)
		return 99;
	for (int i = 0; i < OTHERS; i++)
		if (pthread_create(&busy, NULL, other, fn))
			return 98;
	if (pthread_create(&waiting, NULL, waits, NULL))
		return 97;
	await_rounds();
	puts("ready");
	fflush(stdout);
	if (!strcmp(how, "itself"))
		kill(getpid(), sig);
	else if (!strcmp(how, "busy"))
		pthread_kill(busy, sig);
	else if (!strcmp(how, "waiting"))
		pthread_kill(waiting, sig);
	else if (!strcmp(how, "abort"))
		abort();
	else if (!strcmp(how, "fault"))
		*(volatile int *)8 = 1;
	else if (!strcmp(how, "exit"))
		_exit(sig);
	else if (!strcmp(how, "exec"))
		execv("/bin/true", done);
	else if (!strcmp(how, "goes on")) {
		enough += rounds;
		await_rounds();
		_exit(sig);
	}
	for (;;)
		pause();
}
