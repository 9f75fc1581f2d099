/* A thread polls in vain, again with the array that holds what the poll before has found, while another one makes events:
 * the array stays as it is until the poll is answered. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 10 };

static int to[2], from[2];

static void *polls(void *none)
{
	struct pollfd p = {.fd = to[0], .events = POLLIN};
	char c;
	for (int round = 0; round < ROUNDS; round++)
		if (poll(&p, 1, -1) != 1 || p.revents != POLLIN || read(to[0], &c, 1) != 1 ||
		    write(from[1], &c, 1) != 1)
			abort();
	return none;
}

int main(void)
{
	pthread_t thread;
	char c = 'x';
	if (pipe(to) || pipe(from) || pthread_create(&thread, NULL, polls, NULL))
		return 1;
	for (int round = 0; round < ROUNDS; round++) {
		usleep(1000); /* the other one is in its poll by then */
		for (int i = 0; i < 3; i++)
			syscall(SYS_getppid);
		if (write(to[1], &c, 1) != 1 || read(from[0], &c, 1) != 1)
			return 1;
	}
	pthread_join(thread, NULL);
	puts("fine");
	return 0;
}
