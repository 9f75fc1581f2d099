/* Children store in shared memory and end while their parent compares that memory, which takes longer. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 24 << 20, CHILDREN = 8 };

int main(void)
{
	char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return 1;
	memset(memory, 1, BYTES);
	for (int i = 0; i < CHILDREN; i++) {
		const struct timespec little = {.tv_nsec = i * 15000000};
		pid_t pid = fork();
		if (!pid) {
			nanosleep(&little, NULL);
			memory[i] = 2;
			kill(getpid(), SIGKILL); /* at once */
		}
		while (!waitpid(pid, NULL, WNOHANG))
			;
	}
	for (int i = 0; i < CHILDREN; i++)
		printf("%d", memory[i]);
	puts("");
	return 0;
}
