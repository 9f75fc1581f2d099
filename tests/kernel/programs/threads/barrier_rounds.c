/* pthread_barrier_wait(3p): nobody passes before all have come, one is the serial thread in each round. */
#include "../observe.h"
#include <pthread.h>

static pthread_barrier_t barrier;
static int arrived[50], serial;

static void *rounds(void *arg)
{
	for (int i = 0; i < 50; i++) {
		__atomic_fetch_add(&arrived[i], 1, __ATOMIC_SEQ_CST);
		if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
			__atomic_fetch_add(&serial, 1, __ATOMIC_SEQ_CST);
		MUST(__atomic_load_n(&arrived[i], __ATOMIC_SEQ_CST) == 4);
	}
	return arg;
}

int main(void)
{
	pthread_t threads[3];

	printf("%s\n", strerrorname_np(pthread_barrier_init(&barrier, NULL, 0)));
	MUST(!pthread_barrier_init(&barrier, NULL, 4));
	for (int i = 0; i < 3; i++)
		MUST(!pthread_create(&threads[i], NULL, rounds, NULL));
	rounds(NULL);
	for (int i = 0; i < 3; i++)
		MUST(!pthread_join(threads[i], NULL));
	printf("serial %d\n", serial);
	return pthread_barrier_destroy(&barrier);
}
