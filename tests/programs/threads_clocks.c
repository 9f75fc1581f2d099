/* Two threads read a clock again and again, and compute in between. */
#include <pthread.h>
#include <time.h>

static void *reads(void *arg)
{
	struct timespec ts;
	volatile unsigned x = 0;

	for (int i = 0; i < 600000; i++) {
		clock_gettime(CLOCK_MONOTONIC, &ts);
		for (int k = 0; k < 500; k++)
			x = x * 3 + 1;
	}
	return arg;
}

int main(void)
{
	pthread_t other;

	if (pthread_create(&other, NULL, reads, NULL))
		return 1;
	reads(NULL);
	return pthread_join(other, NULL) != 0;
}
