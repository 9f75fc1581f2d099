/* pthread_setcancelstate(3): a cancellation waits while it is disabled; the asynchronous type ends a computation anywhere. */
#include "../observe.h"
#include <pthread.h>
#include <semaphore.h>

static sem_t ready, go;

static void *disabled(void *arg)
{
	int old = -1;

	(void)arg;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	printf("was enabled %d\n", old == PTHREAD_CANCEL_ENABLE);
	sem_post(&ready);
	while (sem_wait(&go))
		;
	pthread_testcancel();
	printf("still here\n");
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	pthread_testcancel();
	printf("never printed\n");
	return NULL;
}

static void *computes(void *arg)
{
	int old = -1;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
	printf("was deferred %d\n", old == PTHREAD_CANCEL_DEFERRED);
	sem_post(&ready);
	for (volatile unsigned long i = 0;; i++)
		;
	return arg;
}

static void *self(void *arg)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	pthread_cancel(pthread_self());
	return arg;
}

int main(void)
{
	void *(*const ways[])(void *) = {disabled, computes, self};
	pthread_t thread;
	void *result;

	MUST(!sem_init(&ready, 0, 0) && !sem_init(&go, 0, 0));
	for (int i = 0; i < 3; i++) {
		MUST(!pthread_create(&thread, NULL, ways[i], NULL));
		if (i < 2)
			while (sem_wait(&ready))
				;
		MUST(!pthread_cancel(thread));
		sem_post(&go);
		MUST(!pthread_join(thread, &result));
		printf("%d: cancelled %d\n", i, result == PTHREAD_CANCELED);
	}
	printf("%d %d\n", pthread_setcancelstate(99, NULL), pthread_setcanceltype(99, NULL));
	return 0;
}
