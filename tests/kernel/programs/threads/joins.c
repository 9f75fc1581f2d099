/* pthread_join(3): results, EDEADLK for itself, EINVAL for a detached one, try and timed joins. */
#include "../observe.h"
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#define NAME(call) printf("%s: %s\n", #call, (reason = (call)) ? strerrorname_np(reason) : "0")

static sem_t go;
static int reason;

static void *waits(void *arg)
{
	while (sem_wait(&go))
		;
	return arg;
}

int main(void)
{
	pthread_t thread;
	void *result;

	MUST(!sem_init(&go, 0, 0) && !pthread_create(&thread, NULL, waits, "result"));
	NAME(pthread_tryjoin_np(thread, &result));
	NAME(pthread_timedjoin_np(thread, &result, &(struct timespec){1, 0}));
	NAME(pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, &(struct timespec){0, 1}));
	NAME(pthread_join(pthread_self(), NULL));
	sem_post(&go);
	NAME(pthread_join(thread, &result));
	printf("%s\n", (char *)result);
	MUST(!pthread_create(&thread, NULL, waits, NULL));
	NAME(pthread_detach(thread));
	NAME(pthread_detach(thread));
	NAME(pthread_join(thread, NULL));
	sem_post(&go);
	return 0;
}
