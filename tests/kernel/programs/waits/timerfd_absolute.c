/* timerfd_create(2): TFD_TIMER_ABSTIME, remaining time, inheritance by fork, and several readers of one timer. */
#include "../observe.h"
#include <stdint.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>

int main(void)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), status;
	struct itimerspec at = {0}, left;
	uint64_t count = 0;

	MUST(fd >= 0 && !clock_gettime(CLOCK_MONOTONIC, &at.it_value));
	at.it_value.tv_sec += 100;
	SAY(timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL));
	SAY(timerfd_gettime(fd, &left));
	printf("relative %d\n", left.it_value.tv_sec >= 95 && left.it_value.tv_sec < 100);
	pid_t child = fork();
	MUST(child >= 0);
	if (!child) {
		at.it_value = (struct timespec){0, 1};
		SAY(timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL));
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
	SAY(read(fd, &count, 8));
	printf("count %lu\n", (unsigned long)count);
	int system_time = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK), up = timerfd_create(CLOCK_BOOTTIME, 0);
	SAY(timerfd_settime(system_time, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET,
			    &(struct itimerspec){.it_value = {1, 0}}, NULL));
	SAY(read(system_time, &count, 8));
	SAY(timerfd_settime(up, 0, &(struct itimerspec){.it_value = {0, 1}}, NULL));
	SAY(read(up, &count, 8));
	return 0;
}
