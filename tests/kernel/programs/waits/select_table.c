/* select(2), proc_pid_status(5): descriptors behind the end of the table are ignored, others that are not open are EBADF; FDSize is its length. */
#include "../observe.h"
#include <sys/select.h>
#include <sys/wait.h>

static int ends[2];

static void try(int fd)
{
	struct timeval none = {0, 0};
	fd_set set;

	FD_ZERO(&set);
	FD_SET(ends[1], &set);
	FD_SET(fd, &set);
	printf("%d: ", fd);
	SAY(select(fd + 1, NULL, &set, NULL, &none));
}

static void all(void)
{
	static const int some[] = {50, 63, 64, 127, 128, 255, 256, 511, 512, 1023};
	char line[256];
	FILE *file = fopen("/proc/self/status", "r");

	MUST(file);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, "FDSize:", 7))
			printf("%s", line);
	fclose(file);
	for (unsigned i = 0; i < sizeof(some) / sizeof(*some); i++)
		try(some[i]);
	fflush(stdout);
}

int main(void)
{
	MUST(!pipe(ends));
	all();
	MUST(dup2(ends[0], 300) == 300);
	all();
	pid_t child = fork();
	if (!child) {
		all();
		_exit(0);
	}
	MUST(waitpid(child, NULL, 0) == child && !close(300));
	all();
	if (!(child = fork())) {
		all();
		_exit(0);
	}
	MUST(waitpid(child, NULL, 0) == child);
	return 0;
}
