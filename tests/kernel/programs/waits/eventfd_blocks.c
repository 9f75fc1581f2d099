/* eventfd(2): a write that would overflow waits for a read, a read of zero for a write; between threads and processes. */
#include "../observe.h"
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

static int fd, other;

static void *writes(void *arg)
{
	uint64_t value = 5;

	MUST(write(fd, &value, 8) == 8);
	return arg;
}

int main(void)
{
	uint64_t value = UINT64_MAX - 3;
	pthread_t thread;
	int status;

	fd = eventfd(0, 0);
	other = eventfd(0, EFD_SEMAPHORE);
	MUST(fd >= 0 && other >= 0 && write(fd, &value, 8) == 8);
	MUST(!pthread_create(&thread, NULL, writes, NULL));
	SAY(read(fd, &value, 8));
	printf("%lx\n", (unsigned long)value);
	MUST(!pthread_join(thread, NULL));
	SAY(read(fd, &value, 8));
	printf("%lu\n", (unsigned long)value);
	pid_t child = fork();
	if (!child) {
		value = 3;
		MUST(write(other, &value, 8) == 8);
		_exit(0);
	}
	for (int i = 0; i < 3; i++)
		SAY(read(other, &value, 8));
	MUST(waitpid(child, &status, 0) == child);
	return 0;
}
