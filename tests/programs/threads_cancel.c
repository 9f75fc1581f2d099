/* Signals that libc keeps for itself: threads are cancelled in a wait and in a computation, and user ids
 * change in all of them. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static volatile unsigned long turns;

static void *waits(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void *computes(void *arg)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (;;)
		turns++;
	return arg;
}

int main(void)
{
	void *(*const work[2])(void *) = {waits, computes};
	pthread_t thread[2];
	void *result;

	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, work[i], NULL);
	while (!turns)
		usleep(1000);
	printf("ids %d %d\n", setgid(getgid()), setuid(getuid()));
	for (int i = 0; i < 2; i++) {
		pthread_cancel(thread[i]);
		pthread_join(thread[i], &result);
		printf("cancelled %d\n", result == PTHREAD_CANCELED);
	}
	return 0;
}
