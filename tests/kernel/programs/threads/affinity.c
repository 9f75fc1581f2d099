/* sched_setaffinity(2): a new thread inherits the mask, each thread has its own, EINVAL without any processor. */
#include "../observe.h"
#include <pthread.h>
#include <sched.h>

static void *inherits(void *arg)
{
	cpu_set_t set;

	MUST(!pthread_getaffinity_np(pthread_self(), sizeof set, &set));
	printf("inherited %d\n", CPU_COUNT(&set));
	CPU_ZERO(&set);
	SAY(sched_setaffinity(0, sizeof set, &set));
	CPU_SET(1000, &set);
	SAY(sched_setaffinity(0, sizeof set, &set));
	return arg;
}

int main(void)
{
	cpu_set_t all, one;
	pthread_t thread;
	unsigned long word;
	int first = 0;

	MUST(!sched_getaffinity(0, sizeof all, &all));
	while (!CPU_ISSET(first, &all))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	SAY(sched_setaffinity(0, sizeof one, &one));
	MUST(!pthread_create(&thread, NULL, inherits, NULL) && !pthread_join(thread, NULL));
	SAY(sched_setaffinity(getpid(), sizeof all, &all));
	SAY(sched_getaffinity(0x7ffffffe, sizeof one, &one));
	SAY(sched_getaffinity(0, 3, (cpu_set_t *)&word));
	printf("%d\n", CPU_EQUAL(&all, &all));
	SAY(sched_getscheduler(0));
	SAY(sched_get_priority_max(SCHED_FIFO));
	SAY(sched_get_priority_min(99));
	return 0;
}
