/* epoll_wait(2): epoll_pwait2 takes nanoseconds and a mask that counts while it waits. */
#include "../observe.h"
#include <signal.h>
#include <sys/epoll.h>
#include <time.h>

static void handler(int sig)
{
	printf("handler %d\n", sig);
}

int main(void)
{
	struct timespec little = {0, 1500000}, wrong = {0, -1}, long_time = {100, 0};
	int epoll = epoll_create1(0);
	struct epoll_event event;
	sigset_t block, none;

	signal(SIGUSR1, handler);
	sigemptyset(&none);
	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	sigprocmask(SIG_BLOCK, &block, NULL);
	SAY(epoll_pwait2(epoll, &event, 1, &little, NULL));
	SAY(epoll_pwait2(epoll, &event, 1, &wrong, NULL));
	raise(SIGUSR1);
	SAY(epoll_pwait2(epoll, &event, 1, &little, NULL));
	SAY(epoll_pwait2(epoll, &event, 1, &long_time, &none));
	raise(SIGUSR1);
	SAY(epoll_pwait(epoll, &event, 1, 0, &none));
	printf("left\n");
	SAY(epoll_pwait(epoll, &event, 1, -1, &none));
	return 0;
}
