/* pthread_rwlockattr_setkind_np(3): errors, tries and time-outs of read-write locks; a waiting writer may hold readers off. */
#include "../observe.h"
#include <pthread.h>
#include <time.h>

#define NAME(call) printf("%s: %s\n", #call, (reason = (call)) ? strerrorname_np(reason) : "0")

static pthread_rwlock_t lock;
static int reason, held;

static void *writes(void *arg)
{
	NAME(pthread_rwlock_trywrlock(&lock));
	NAME(pthread_rwlock_timedwrlock(&lock, &(struct timespec){1, 0}));
	return arg;
}

static void *reads(void *arg)
{
	NAME(pthread_rwlock_tryrdlock(&lock));
	held = !reason;
	NAME(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &(struct timespec){0, 1}));
	if (held)
		NAME(pthread_rwlock_unlock(&lock));
	if (!reason && held)
		NAME(pthread_rwlock_unlock(&lock));
	return arg;
}

static void in_thread(void *(*what)(void *))
{
	pthread_t thread;

	MUST(!pthread_create(&thread, NULL, what, NULL) && !pthread_join(thread, NULL));
}

int main(void)
{
	pthread_rwlockattr_t attr;

	for (int kind = 0; kind < 3; kind++) {
		printf("kind %d\n", kind);
		pthread_rwlockattr_init(&attr);
		NAME(pthread_rwlockattr_setkind_np(&attr, kind));
		NAME(pthread_rwlock_init(&lock, &attr));
		NAME(pthread_rwlock_rdlock(&lock));
		NAME(pthread_rwlock_rdlock(&lock));
		in_thread(writes);
		in_thread(reads);
		NAME(pthread_rwlock_unlock(&lock));
		NAME(pthread_rwlock_unlock(&lock));
		NAME(pthread_rwlock_wrlock(&lock));
		NAME(pthread_rwlock_wrlock(&lock));
		NAME(pthread_rwlock_rdlock(&lock));
		in_thread(reads);
		in_thread(writes);
		NAME(pthread_rwlock_unlock(&lock));
		NAME(pthread_rwlock_destroy(&lock));
	}
	NAME(pthread_rwlockattr_setkind_np(&attr, 9));
	return 0;
}
