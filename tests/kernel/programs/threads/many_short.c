/* pthread_create(3): many threads that end at once, joined or detached; their stacks are used again. */
#include "../observe.h"
#include <pthread.h>
#include <semaphore.h>

static sem_t ended;
static long sum;

static void *adds(void *arg)
{
	__atomic_fetch_add(&sum, (long)arg, __ATOMIC_SEQ_CST);
	sem_post(&ended);
	return arg;
}

int main(void)
{
	pthread_attr_t detached;
	pthread_t thread;
	void *result;
	long total = 0;

	MUST(!sem_init(&ended, 0, 0) && !pthread_attr_init(&detached));
	MUST(!pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED));
	for (long i = 0; i < 60; i++) {
		MUST(!pthread_create(&thread, i % 2 ? &detached : NULL, adds, (void *)i));
		if (i % 2 == 0) {
			MUST(!pthread_join(thread, &result));
			total += (long)result;
		}
	}
	for (int i = 0; i < 60; i++)
		while (sem_wait(&ended))
			;
	printf("sum %ld joined %ld\n", sum, total);
	return 0;
}
