/* clock_getres(2): each clock has a resolution and runs forward; dynamic ones mean a process or a thread. */
#include "../observe.h"
#include <pthread.h>
#include <time.h>

static long long ns(struct timespec t)
{
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

int main(void)
{
	struct timespec resolution, first, second;
	clockid_t of_process, of_thread;

	for (clockid_t id = 0; id < 14; id++) {
		int got = clock_getres(id, &resolution);
		printf("%d: %d %s", id, got, got ? strerrorname_np(errno) : "");
		if (!got && !clock_gettime(id, &first) && !clock_gettime(id, &second))
			printf(" %ld.%09ld forward %d", (long)resolution.tv_sec, resolution.tv_nsec,
			       ns(second) >= ns(first));
		printf("\n");
	}
	SAY(clock_getcpuclockid(getpid(), &of_process));
	SAY(clock_gettime(of_process, &first));
	SAY(pthread_getcpuclockid(pthread_self(), &of_thread));
	SAY(clock_gettime(of_thread, &second));
	printf("process at least thread %d\n", ns(second) > 0 && ns(first) > 0);
	SAY(clock_getcpuclockid(0x7ffffffe, &of_process));
	SAY(clock_getres(CLOCK_MONOTONIC, NULL));
	SAY(clock_settime(CLOCK_MONOTONIC, &first));
	SAY(clock_settime(CLOCK_REALTIME, &(struct timespec){0, -1}));
	return 0;
}
