/* pthread_spin_lock(3): a lock held by another is busy for trylock; counts are exact. */
#include "../observe.h"
#include <pthread.h>

static pthread_spinlock_t lock;
static long count;

static void *adds(void *arg)
{
	for (int i = 0; i < 2000; i++) {
		pthread_spin_lock(&lock);
		count++;
		pthread_spin_unlock(&lock);
	}
	return arg;
}

static void *tries(void *arg)
{
	printf("%s\n", strerrorname_np(pthread_spin_trylock(&lock)));
	return arg;
}

int main(void)
{
	pthread_t threads[4];

	MUST(!pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE));
	for (int i = 0; i < 4; i++)
		MUST(!pthread_create(&threads[i], NULL, adds, NULL));
	for (int i = 0; i < 4; i++)
		MUST(!pthread_join(threads[i], NULL));
	printf("count %ld\n", count);
	pthread_spin_lock(&lock);
	MUST(!pthread_create(&threads[0], NULL, tries, NULL) && !pthread_join(threads[0], NULL));
	return pthread_spin_unlock(&lock) | pthread_spin_destroy(&lock);
}
