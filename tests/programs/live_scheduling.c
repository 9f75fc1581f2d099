/* A program that has asked for one processor, a policy and a nice value; getppid() marks the place to restart at. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

int main(void)
{
	const struct sched_param none = {0};
	cpu_set_t may, one;
	int cpu = 0;
	if (sched_getaffinity(0, sizeof(may), &may))
		return 2;
	while (!CPU_ISSET(cpu, &may))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) || sched_setscheduler(0, SCHED_BATCH, &none) ||
	    setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 3))
		return 3;
	for (int i = 0; i < 2; i++)
		getppid();
	if (sched_getaffinity(0, sizeof(may), &may))
		return 4;
	printf("%d processor, %d, policy %d, nice %d\n", CPU_COUNT(&may), CPU_ISSET(cpu, &may) != 0,
	       sched_getscheduler(0), getpriority(PRIO_PROCESS, 0));
	return 0;
}
