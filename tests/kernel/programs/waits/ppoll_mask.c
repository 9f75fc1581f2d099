/* poll(2): ppoll and pselect deliver a signal that is pending and that the given mask lets through, even when ready. */
#include "../observe.h"
#include <poll.h>
#include <signal.h>
#include <sys/select.h>
#include <time.h>

static int handled;

static void handler(int sig)
{
	(void)sig;
	handled++;
}

int main(void)
{
	struct timespec zero = {0, 0}, long_time = {100, 0};
	int fds[2];
	struct pollfd one;
	sigset_t block, none;
	fd_set set;

	signal(SIGUSR1, handler);
	MUST(!pipe(fds));
	one = (struct pollfd){fds[0], POLLIN, 0};
	sigemptyset(&none);
	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	sigprocmask(SIG_BLOCK, &block, NULL);
	raise(SIGUSR1);
	SAY(ppoll(&one, 1, &long_time, &none));
	printf("%d %ld\n", handled, long_time.tv_sec);
	raise(SIGUSR1);
	FD_ZERO(&set);
	FD_SET(fds[0], &set);
	SAY(pselect(fds[0] + 1, &set, NULL, NULL, NULL, &none));
	printf("%d still set %d\n", handled, !!FD_ISSET(fds[0], &set));
	MUST(write(fds[1], "x", 1) == 1);
	raise(SIGUSR1);
	SAY(ppoll(&one, 1, NULL, &none));
	printf("%d\n", handled);
	SAY(ppoll(&one, 1, NULL, &block));
	SAY(ppoll(&one, 1, &zero, &none));
	printf("%d\n", handled);
	return 0;
}
