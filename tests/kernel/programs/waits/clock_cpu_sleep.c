/* clock_nanosleep(2): by the clock of processor time of the process, while another thread computes. */
#include "../observe.h"
#include <pthread.h>
#include <time.h>

static int stop;

static void *computes(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST))
		;
	return arg;
}

int main(void)
{
	struct timespec little = {0, 10000000}, before, after;
	pthread_t thread;

	MUST(!pthread_create(&thread, NULL, computes, NULL));
	MUST(!clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before));
	printf("%d\n", clock_nanosleep(CLOCK_PROCESS_CPUTIME_ID, 0, &little, NULL));
	MUST(!clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after));
	printf("long enough %d\n",
	       (after.tv_sec - before.tv_sec) * 1000000000l + after.tv_nsec - before.tv_nsec >= little.tv_nsec);
	__atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
	MUST(!pthread_join(thread, NULL));
	return 0;
}
