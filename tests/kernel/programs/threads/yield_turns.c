/* sched_yield(2): threads that take turns by a flag and sched_yield. */
#include "../observe.h"
#include <pthread.h>
#include <sched.h>

static int turn;
static long total;

static void *turns(void *arg)
{
	int me = (int)(long)arg;

	for (int i = 0; i < 30; i++) {
		while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != me)
			sched_yield();
		total = total * 31 % 1000003 + me;
		__atomic_store_n(&turn, (me + 1) % 3, __ATOMIC_RELEASE);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[3];

	for (long i = 0; i < 3; i++)
		MUST(!pthread_create(&threads[i], NULL, turns, (void *)i));
	for (int i = 0; i < 3; i++)
		MUST(!pthread_join(threads[i], NULL));
	printf("total %ld\n", total);
	return 0;
}
