/* nanosleep(2): after EINTR the rest of the time is written; an absolute sleep writes none. */
#include "../observe.h"
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

static void handler(int sig)
{
	(void)sig;
}

static void soon(void)
{
	struct itimerval often = {{.tv_usec = 20000}, {.tv_usec = 20000}};

	MUST(!setitimer(ITIMER_REAL, &often, NULL));
}

int main(void)
{
	struct timespec sleep = {500, 0}, left = {1, 1}, now, wrong = {0, 1000000000}, negative = {-1, 0};

	signal(SIGALRM, handler);
	soon();
	SAY(nanosleep(&sleep, &left));
	printf("%d\n", left.tv_sec >= 498 && left.tv_sec < 500);
	soon();
	SAY(nanosleep(&sleep, &sleep));
	printf("%d\n", sleep.tv_sec >= 498 && sleep.tv_sec < 500);
	left = (struct timespec){77, 77};
	clock_gettime(CLOCK_BOOTTIME, &now);
	now.tv_sec += 100;
	soon();
	printf("%s\n", strerrorname_np(clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &now, &left)));
	printf("%ld\n", (long)left.tv_sec);
	MUST(!setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL));
	now.tv_sec -= 200;
	printf("%d\n", clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &now, NULL));
	SAY(nanosleep(&wrong, NULL));
	SAY(nanosleep(&negative, NULL));
	SAY(syscall(SYS_nanosleep, 8, NULL));
	SAY(syscall(SYS_nanosleep, &(struct timespec){0, 1000}, 8));
	printf("%s\n", strerrorname_np(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &sleep, NULL)));
	printf("%s\n", strerrorname_np(clock_nanosleep(CLOCK_MONOTONIC_RAW, 0, &sleep, NULL)));
	printf("%s\n", strerrorname_np(clock_nanosleep(99, 0, &sleep, NULL)));
	soon();
	return 0;
}
