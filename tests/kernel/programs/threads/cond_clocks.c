/* pthread_cond_timedwait(3p): time-outs by either clock, a broadcast wakes all, a signal without waiters is lost. */
#include "../observe.h"
#include <pthread.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER, steady;
static int waiting, open_now, through;

static void *waits(void *arg)
{
	pthread_mutex_lock(&mutex);
	waiting++;
	pthread_cond_signal(&steady);
	while (!open_now)
		pthread_cond_wait(&cond, &mutex);
	through++;
	pthread_mutex_unlock(&mutex);
	return arg;
}

int main(void)
{
	pthread_condattr_t attr;
	pthread_t threads[5];
	struct timespec soon;
	clockid_t clock;

	pthread_condattr_init(&attr);
	printf("%d\n", pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
	printf("%d\n", pthread_condattr_setclock(&attr, CLOCK_BOOTTIME));
	pthread_condattr_getclock(&attr, &clock);
	MUST(clock == CLOCK_MONOTONIC && !pthread_cond_init(&steady, &attr));
	pthread_cond_signal(&cond);
	pthread_mutex_lock(&mutex);
	clock_gettime(CLOCK_MONOTONIC, &soon);
	soon.tv_nsec += 5000000;
	if (soon.tv_nsec >= 1000000000)
		soon = (struct timespec){soon.tv_sec + 1, soon.tv_nsec - 1000000000};
	printf("%s\n", strerrorname_np(pthread_cond_timedwait(&steady, &mutex, &soon)));
	printf("%s\n", strerrorname_np(pthread_cond_timedwait(&cond, &mutex, &(struct timespec){1, 0})));
	printf("%s\n",
	       strerrorname_np(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &(struct timespec){0, 1})));
	printf("%s\n", strerrorname_np(pthread_cond_timedwait(&cond, &mutex, &(struct timespec){0, -1})));
	for (int i = 0; i < 5; i++)
		MUST(!pthread_create(&threads[i], NULL, waits, NULL));
	while (waiting < 5)
		pthread_cond_wait(&steady, &mutex);
	open_now = 1;
	printf("through %d\n", through);
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < 5; i++)
		MUST(!pthread_join(threads[i], NULL));
	printf("through %d\n", through);
	return pthread_cond_destroy(&cond) | pthread_cond_destroy(&steady);
}
