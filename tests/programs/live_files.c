/* For restarts: a computation whose state is spread over memory, files, a pipe, an eventfd, an epoll and a timer.
 * live_files IN OUT LOG: what it prints at the end depends on all of them. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum { ROUNDS = 60 };

static volatile sig_atomic_t ticks;

static void on_tick(int sig)
{
	(void)sig;
	ticks++;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	int in = open(argv[1], O_RDONLY), pipes[2], copy;
	FILE *out = fopen(argv[2], "w"), *log = fopen(argv[3], "a");
	int count = eventfd(5, EFD_NONBLOCK | EFD_SEMAPHORE), set = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event watched = {.events = EPOLLIN, .data.u64 = 77}, got;
	struct sigaction sa = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
	struct itimerval tick = {{0, 20000}, {0, 20000}};
	struct stat was, is, named;
	uint64_t sum = 1, value;
	char line[32];

	if (in < 0 || !out || !log || pipe(pipes) || count < 0 || set < 0)
		fail("set-up");
	if (fstat(fileno(out), &was))
		fail("fstat");
	setvbuf(log, NULL, _IOLBF, 0);
	copy = dup(in);
	if (epoll_ctl(set, EPOLL_CTL_ADD, pipes[0], &watched) || sigaction(SIGALRM, &sa, NULL))
		fail("set-up");
	if (write(pipes[1], "ahead", 5) != 5)
		fail("pipe");
	for (int i = 0; i < ROUNDS; i++) {
		if (i == 3 && setitimer(ITIMER_REAL, &tick, NULL))
			fail("setitimer");
		/* both descriptors share one offset */
		if (read(i % 2 ? in : copy, line, 8) != 8)
			fail("read");
		for (int k = 0; k < 8; k++)
			sum = sum * 31 + (unsigned char)line[k];
		fprintf(out, "%d %016lx\n", i, (unsigned long)sum);
		fprintf(log, "round %d\n", i);
		if (i % 7 == 0)
			fflush(out);
		if (epoll_wait(set, &got, 1, 10000) != 1 || got.data.u64 != 77)
			fail("epoll_wait");
		if (write(pipes[1], line, 3) != 3 || read(pipes[0], line, 3) != 3)
			fail("pipe");
		for (int k = 0; k < 3; k++)
			sum = sum * 17 + (unsigned char)line[k];
		value = 1;
		if (i % 3 == 0 && write(count, &value, sizeof(value)) != sizeof(value))
			fail("eventfd");
		if (i % 4 == 0 && read(count, &value, sizeof(value)) == sizeof(value))
			sum += value * 1000;
		if (i % 10 == 9)
			printf("at %d: %016lx\n", i, (unsigned long)sum);
	}
	/* the timer goes on after a restart */
	for (int before = ticks; ticks == before;)
		pause();
	while (read(count, &value, sizeof(value)) == sizeof(value))
		sum = sum * 3 + value;
	if (fstat(fileno(out), &is) || stat(argv[2], &named))
		fail("stat");
	if (is.st_ino != was.st_ino || named.st_ino != was.st_ino || named.st_dev != was.st_dev)
		puts("the file is another one");
	printf("sum %016lx\n", (unsigned long)sum);
	return fclose(out) || fclose(log) ? 1 : 0;
}
