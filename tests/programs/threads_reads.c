/* Devices that give all that is asked for, unless a signal comes: rdb's own are not the program's. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LARGE = 32 << 20, TURNS = 4 };

static void *other(void *arg)
{
	for (;;)
		syscall(SYS_getppid);
	return arg;
}

int main(void)
{
	pthread_t t;
	char *buffer = malloc(LARGE);
	int zero = open("/dev/zero", O_RDONLY), random = open("/dev/urandom", O_RDONLY), wrong = 0;
	if (pthread_create(&t, NULL, other, NULL) || !buffer)
		return 1;
	for (int i = 0; i < TURNS; i++) {
		wrong += read(zero, buffer, LARGE) != LARGE;
		wrong += pread(zero, buffer, LARGE, 0) != LARGE;
		wrong += read(random, buffer, LARGE / 4) != LARGE / 4;
		wrong += getrandom(buffer, LARGE / 4, 0) != LARGE / 4;
	}
	printf("%d were short\n", wrong);
	return wrong != 0;
}
