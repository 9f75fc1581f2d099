/* Four threads add to a sum under a mutex. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long total;

static void *work(void *arg)
{
	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&mutex);
		total += (long)arg;
		pthread_mutex_unlock(&mutex);
	}
	return arg;
}

int main(void)
{
	pthread_t threads[4];
	long sum = 0;
	for (long i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < 4; i++) {
		void *result;
		pthread_join(threads[i], &result);
		sum += (long)result;
	}
	printf("%ld %ld\n", total, sum);
	return 0;
}
