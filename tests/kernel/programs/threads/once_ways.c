/* pthread_once(3p): one of several threads runs the function, the others wait; after a cancellation in it the next one does. */
#include "../observe.h"
#include <pthread.h>
#include <semaphore.h>

static pthread_once_t once = PTHREAD_ONCE_INIT, interrupted = PTHREAD_ONCE_INIT;
static int count;
static sem_t ready;

static void init(void)
{
	count++;
}

static void waits(void)
{
	printf("begun\n");
	sem_post(&ready);
	if (count++ == 1)
		for (;;)
			pause();
}

static void *thread(void *arg)
{
	pthread_once(&once, init);
	MUST(count >= 1);
	return arg;
}

static void *cancelled(void *arg)
{
	pthread_once(&interrupted, waits);
	return arg;
}

int main(void)
{
	pthread_t threads[4];

	MUST(!sem_init(&ready, 0, 0));
	for (int i = 0; i < 4; i++)
		MUST(!pthread_create(&threads[i], NULL, thread, NULL));
	for (int i = 0; i < 4; i++)
		MUST(!pthread_join(threads[i], NULL));
	printf("count %d\n", count);
	MUST(!pthread_create(&threads[0], NULL, cancelled, NULL));
	while (sem_wait(&ready))
		;
	MUST(!pthread_cancel(threads[0]) && !pthread_join(threads[0], NULL));
	pthread_once(&interrupted, waits);
	printf("count %d\n", count);
	return 0;
}
