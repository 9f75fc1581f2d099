/* timerfd_create(2): expirations are counted, an absolute time that has passed expires at once, zero disarms. */
#include "../observe.h"
#include <poll.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <time.h>

int main(void)
{
	struct itimerspec set = {.it_value = {0, 1}}, old, past = {.it_value = {0, 1}, .it_interval = {1000, 0}};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	struct pollfd one = {fd, POLLIN, 0};
	uint64_t count = 0;

	MUST(fd >= 0);
	SAY(read(fd, &count, 8));
	SAY(timerfd_settime(fd, 0, &set, &old));
	printf("old %ld %ld\n", (long)old.it_value.tv_sec, old.it_value.tv_nsec);
	SAY(poll(&one, 1, -1));
	SAY(read(fd, &count, 8));
	printf("count %lu\n", (unsigned long)count);
	SAY(timerfd_gettime(fd, &old));
	printf("%ld %ld\n", (long)old.it_value.tv_sec, old.it_value.tv_nsec);
	SAY(timerfd_settime(fd, TFD_TIMER_ABSTIME, &past, NULL));
	SAY(poll(&one, 1, -1));
	SAY(read(fd, &count, 8));
	printf("more than none %d\n", count >= 1);
	SAY(timerfd_gettime(fd, &old));
	printf("interval %ld\n", (long)old.it_interval.tv_sec);
	SAY(timerfd_settime(fd, 0, &(struct itimerspec){0}, &old));
	printf("interval %ld left %d\n", (long)old.it_interval.tv_sec, old.it_value.tv_sec > 0);
	SAY(read(fd, &count, 8));
	SAY(timerfd_settime(fd, 0, &(struct itimerspec){.it_value = {0, 1000000000}}, NULL));
	SAY(timerfd_settime(fd, 0x40, &set, NULL));
	SAY(timerfd_settime(fd, 0, NULL, NULL));
	SAY(timerfd_settime(0, 0, &set, NULL));
	SAY(timerfd_create(CLOCK_PROCESS_CPUTIME_ID, 0));
	SAY(timerfd_create(CLOCK_REALTIME, 5));
	SAY(read(fd, &count, 4));
	count = 3;
	SAY(ioctl(fd, _IOW('T', 0, uint64_t), &count));
	SAY(read(fd, &count, 8));
	printf("count %lu\n", (unsigned long)count);
	SAY(timerfd_settime(timerfd_create(CLOCK_REALTIME, 0), TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &set,
			    NULL));
	return 0;
}
