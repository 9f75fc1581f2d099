/* A thread that writes past the end of a buffer, in rounds without events, over a local of main. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 6

struct piece {
	char buffer[64];
	long guard;
};

static pthread_barrier_t both;
static volatile int past = 6;

static void fill(char *buffer, int round, int i)
{
	int length = round == 4 && i == 23 ? 60 + past : 60;
	for (int at = 0; at < length; at++)
		buffer[at] = (char)(round + i + at); /* the store */
}

static void *writer(void *of)
{
	for (int round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&both);
		for (int i = 0; i < 40; i++)
			fill(((struct piece *)of)->buffer, round, i);
		pthread_barrier_wait(&both);
		getppid();
	}
	return NULL;
}

int main(void)
{
	struct piece mine;
	memset(&mine, 0, sizeof mine);
	mine.guard = 77;
	pthread_t thread;
	pthread_barrier_init(&both, NULL, 2);
	if (pthread_create(&thread, NULL, writer, &mine))
		return 1;
	for (int round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&both);
		pthread_barrier_wait(&both);
		getppid();
	}
	pthread_join(thread, NULL);
	return mine.guard == 77;
}
