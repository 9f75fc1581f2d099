/* Two threads count without a lock: the sum depends on where they are interrupted. */
#include <pthread.h>
#include <stdio.h>

static volatile long counter;
static volatile int started;

static void *work(void *arg)
{
	__atomic_add_fetch(&started, 1, __ATOMIC_SEQ_CST);
	while (started < 2)
		;
	for (int i = 0; i < 20000000; i++)
		counter++;
	return NULL;
}

int main(void)
{
	pthread_t a, b;
	pthread_create(&a, NULL, work, NULL);
	pthread_create(&b, NULL, work, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%ld\n", counter);
	return 0;
}
