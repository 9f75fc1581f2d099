/* pthread_mutex_lock(3p): normal, recursive, error-checking and robust mutexes, and what each says of a second lock. */
#include "../observe.h"
#include <pthread.h>
#include <time.h>

#define NAME(call) printf("%s: %s\n", #call, (reason = (call)) ? strerrorname_np(reason) : "0")

static pthread_mutex_t mutex;
static int reason;

static void *other(void *arg)
{
	NAME(pthread_mutex_trylock(&mutex));
	NAME(pthread_mutex_unlock(&mutex));
	NAME(pthread_mutex_timedlock(&mutex, &(struct timespec){1, 0}));
	NAME(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &(struct timespec){0, 1}));
	return arg;
}

static void *ends_with_it(void *arg)
{
	MUST(!pthread_mutex_lock(&mutex));
	return arg;
}

int main(void)
{
	static const int kinds[] = {PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK};
	pthread_mutexattr_t attr;
	pthread_t thread;

	for (int i = 0; i < 4; i++) {
		pthread_mutexattr_init(&attr);
		NAME(pthread_mutexattr_settype(&attr, kinds[i % 2]));
		if (i >= 2)
			NAME(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT));
		NAME(pthread_mutex_init(&mutex, &attr));
		NAME(pthread_mutex_lock(&mutex));
		NAME(pthread_mutex_lock(&mutex));
		NAME(pthread_mutex_trylock(&mutex));
		MUST(!pthread_create(&thread, NULL, other, NULL) && !pthread_join(thread, NULL));
		NAME(pthread_mutex_unlock(&mutex));
		NAME(pthread_mutex_unlock(&mutex));
		NAME(pthread_mutex_unlock(&mutex));
		NAME(pthread_mutex_unlock(&mutex));
	}
	for (int protocol = 0; protocol < 2; protocol++) {
		pthread_mutexattr_init(&attr);
		pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
		NAME(pthread_mutexattr_setprotocol(&attr, protocol ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE));
		NAME(pthread_mutex_init(&mutex, &attr));
		MUST(!pthread_create(&thread, NULL, ends_with_it, NULL) && !pthread_join(thread, NULL));
		NAME(pthread_mutex_lock(&mutex));
		NAME(pthread_mutex_consistent(&mutex));
		NAME(pthread_mutex_unlock(&mutex));
		MUST(!pthread_create(&thread, NULL, ends_with_it, NULL) && !pthread_join(thread, NULL));
		NAME(pthread_mutex_timedlock(&mutex, &(struct timespec){1, 0}));
		NAME(pthread_mutex_unlock(&mutex));
		NAME(pthread_mutex_trylock(&mutex));
	}
	return 0;
}
