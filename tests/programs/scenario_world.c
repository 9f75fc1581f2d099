/* What comes in from the world and goes out to it; tests name places by the comments with @. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

struct {
	time_t seconds;
	struct timespec real, monotonic;
	uint64_t random[4];
	uint64_t cycles;
	pid_t pid, parent;
	void *heap, *stack, *big;
} seen;

int x;
int stages;
char buffer[32];

static uint64_t counter(void)
{
	return __rdtsc();
}

static void gather(void)
{
	int here;

	seen.seconds = time(NULL); /* @gather */
	clock_gettime(CLOCK_REALTIME, &seen.real);
	clock_gettime(CLOCK_MONOTONIC, &seen.monotonic);
	if (getrandom(seen.random, sizeof(seen.random), 0) < 0)
		abort();
	seen.cycles = counter();
	seen.pid = getpid();
	seen.parent = getppid();
	seen.heap = malloc(100);
	seen.big = malloc(1 << 20);
	seen.stack = &here;
	stages++; /* @gathered */
}

static void same(void)
{
	x = 7; /* @seven */
	stages++; /* @after-seven */
	x = x; /* @same */
	stages++;
	x = x; /* @same-again */
	stages++; /* @after-same */
}

static void file(const char *path)
{
	int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);

	if (write(fd, "one two three", 13) != 13)
		abort();
	lseek(fd, 4, SEEK_SET);
	if (read(fd, buffer, 3) != 3) /* @read */
		abort();
	stages++; /* @after-read */
	close(fd);
	fd = open(path, O_WRONLY | O_APPEND);
	for (int i = 0; i < 3; i++)
		if (write(fd, " more", 5) != 5) /* @append */
			abort();
	close(fd); /* @appended */
}

static void talk(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strncpy(to.sun_path, path, sizeof(to.sun_path) - 1);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) /* @connect */
		abort();
	if (send(fd, "hello, world", 12, 0) != 12) /* @send */
		abort();
	close(fd); /* @sent */
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	gather();
	same();
	file(argv[1]);
	talk(argv[2]);
	printf("first line\n");
	fflush(stdout); /* @flush */
	stages++; /* @flushed */
	printf("second line\n");
	fflush(stdout);
	fprintf(stderr, "a complaint\n");
	return 0; /* @end */
}
