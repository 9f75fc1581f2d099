/* Shared memory that is stored to and unmapped before the next event; an impossible close_range(2). */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	for (int i = 0; i < 20; i++) {
		char *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		pid_t child = fork();
		if (child == 0)
			_exit(0);
		waitpid(child, NULL, 0);
		memset(at + 4000, i, 200);
		munmap(at, i % 2 ? 4096 : 8192);
	}
	int below = close_range(9, 8, 0), why = errno;
	printf("close_range %d %d\n", below, why == EINVAL);
}
