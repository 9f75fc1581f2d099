/* A memfd larger than what is compared at every event, and a child that may write to it: shared_owners ends|maps|opens.
 * The child has ended at once; has it mapped; or has its descriptor alone, as another program, and maps it later. */
#include "calls.h"
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

enum { BYTES = 2 << 20, TURNS = 40 };

static int *map(int fd)
{
	void *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	NEED(p != MAP_FAILED);
	return p;
}

static void answer(int from, int to, int fd, int *p)
{
	char byte;
	for (int turn = 0; read(from, &byte, 1) == 1; turn++) {
		if (!p && turn == TURNS / 2)
			p = map(fd);
		if (p)
			p[turn * 1000] = turn + 1;
		NEED(write(to, &byte, 1) == 1);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	int asks[2], answers[2];
	char number[3][12], byte = 0;
	NEED(argc >= 2);
	if (argc == 5)
		answer(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), NULL);
	const int fd = memfd_create("shared", 0);
	NEED(fd >= 0 && ftruncate(fd, BYTES) == 0 && pipe(asks) == 0 && pipe(answers) == 0);
	int *p = map(fd), sum = 0;
	const pid_t child = fork();
	if (child == 0) {
		close(asks[1]);
		if (*argv[1] == 'e')
			_exit(0);
		if (*argv[1] == 'm')
			answer(asks[0], answers[1], fd, p);
		snprintf(number[0], 12, "%d", asks[0]);
		snprintf(number[1], 12, "%d", answers[1]);
		snprintf(number[2], 12, "%d", fd);
		execl(argv[0], argv[0], argv[1], number[0], number[1], number[2], NULL);
	}
	if (*argv[1] == 'e')
		NEED(waitpid(child, NULL, 0) == child);
	for (int turn = 0; turn < TURNS; turn++) {
		p[turn * 1000 + 1] = turn;
		nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
		if (*argv[1] != 'e')
			NEED(write(asks[1], &byte, 1) == 1 && read(answers[0], &byte, 1) == 1);
		sum = sum * 31 + p[turn * 1000];
		getppid();
	}
	close(asks[1]);
	printf("%d\n", sum);
	return 0;
}
