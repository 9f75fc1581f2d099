/* Two threads take turns, argv[1] each, by system calls that no patched place makes. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int ends[2][2];
static long turns;

static long raw(long number, long fd, char *byte)
{
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "0"(number), "D"(fd), "S"(byte), "d"(1) : "rcx", "r11", "memory");
	return result;
}

static void *take_turns(void *arg)
{
	const long self = (long)arg;
	char byte = 0;

	for (long i = 0; i < turns; i++)
		if (raw(SYS_write, ends[self][1], &byte) != 1 || raw(SYS_read, ends[!self][0], &byte) != 1)
			exit(1);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t other;

	if (argc < 2 || pipe(ends[0]) || pipe(ends[1]))
		return 1;
	turns = atol(argv[1]);
	if (pthread_create(&other, NULL, take_turns, (void *)1))
		return 1;
	take_turns((void *)0);
	return pthread_join(other, NULL);
}
