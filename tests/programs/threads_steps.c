/* Two workers take turns, then one computes until the other, which has no calls either, is done. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long turn;
static volatile long shared;
static volatile int ready;

static void *work(void *arg)
{
	long me = (long)arg;
	for (int i = 0; i < 4; i++) {
		pthread_mutex_lock(&mutex);
		while (turn != me)
			pthread_cond_wait(&changed, &mutex);
		turn = !turn;
		shared = 10 * i + me; /* @shared */
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&mutex);
	}
	if (me == 0) {
		while (!ready) /* @spin */
			;
		shared = 100;
	} else {
		ready = 1;
	}
	return NULL;
}

int main(void)
{
	pthread_t workers[2];
	for (long i = 0; i < 2; i++)
		pthread_create(&workers[i], NULL, work, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(workers[i], NULL);
	printf("%ld\n", shared); /* @end */
	return 0;
}
