/* pthread_setschedparam(3), setpriority(2): policies of a thread, priorities of one thread, errors for wrong ones. */
#include "../observe.h"
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

static void *thread(void *arg)
{
	struct sched_param param = {.sched_priority = 0};
	int policy = -1;

	MUST(!pthread_getschedparam(pthread_self(), &policy, &param));
	printf("%d %d\n", policy, param.sched_priority);
	printf("%d\n", pthread_setschedparam(pthread_self(), SCHED_BATCH, &param));
	SAY(sched_getscheduler(0));
	param.sched_priority = 5;
	printf("%s\n", strerrorname_np(pthread_setschedparam(pthread_self(), SCHED_OTHER, &param)));
	printf("%s\n", strerrorname_np(pthread_setschedparam(pthread_self(), 99, &param)));
	SAY(setpriority(PRIO_PROCESS, (id_t)gettid(), 7)); /* on Linux of this thread */
	errno = 0;
	SAY(getpriority(PRIO_PROCESS, 0));
	return arg;
}

int main(void)
{
	pthread_t t;

	MUST(!pthread_create(&t, NULL, thread, NULL) && !pthread_join(t, NULL));
	SAY(sched_getscheduler(0));
	SAY(getpriority(PRIO_PROCESS, 0));
	SAY(nice(3));
	SAY(getpriority(PRIO_PROCESS, 0));
	SAY(setpriority(77, 0, 1));
	SAY(getpriority(PRIO_PROCESS, 0x7ffffffe));
	SAY(sched_rr_get_interval(0, &(struct timespec){0}));
	return 0;
}
