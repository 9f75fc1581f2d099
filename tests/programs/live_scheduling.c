/* A program that has asked for one processor, a policy, a nice value and no core files, and makes so many threads then,
 * one after the other: live_scheduling THREADS [attr].  With attr by sched_setattr(2).  getppid() marks the place to
 * restart at. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *nothing(void *given)
{
	return given;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	const struct sched_param none = {0};
	cpu_set_t may, one;
	int cpu = 0;
	if (sched_getaffinity(0, sizeof(may), &may))
		return 2;
	while (!CPU_ISSET(cpu, &may))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	struct {
		unsigned size, policy;
		unsigned long flags;
		int nice;
		unsigned priority;
		unsigned long deadlines[3];
	} attr = {sizeof(attr), SCHED_BATCH, 0, getpriority(PRIO_PROCESS, 0) + 3, 0, {0}};
	if (sched_setaffinity(0, sizeof(one), &one))
		return 3;
	if (argc > 2 ? syscall(SYS_sched_setattr, 0, &attr, 0)
		     : sched_setscheduler(0, SCHED_BATCH, &none) || setpriority(PRIO_PROCESS, 0, attr.nice))
		return 3;
	if (prctl(PR_SET_DUMPABLE, 0))
		return 6;
	for (int i = argc > 1 ? atoi(argv[1]) : 0; i; i--)
		if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL))
			return 5;
	for (int i = 0; i < 2; i++)
		getppid();
	if (sched_getaffinity(0, sizeof(may), &may))
		return 4;
	printf("%d processor, %d, policy %d, nice %d, dumpable %d\n", CPU_COUNT(&may), CPU_ISSET(cpu, &may) != 0,
	       sched_getscheduler(0), getpriority(PRIO_PROCESS, 0), prctl(PR_GET_DUMPABLE));
	return 0;
}
