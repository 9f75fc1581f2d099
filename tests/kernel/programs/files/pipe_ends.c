/* pipe(7): without writers reading is the end; without readers writing is SIGPIPE and EPIPE; poll tells both. */
#include "../observe.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

static void handler(int number)
{
	printf("signal %d\n", number);
}

static void ask(int fd, int events)
{
	struct pollfd polled = {fd, (short)events, 0};
	int n = poll(&polled, 1, 0);
	printf("poll: %d, %x\n", n, polled.revents);
}

int main(void)
{
	char text[8];
	int two[2], status;

	MUST(!pipe(two));
	ask(two[0], POLLIN);
	ask(two[1], POLLOUT);
	ask(two[0], POLLOUT);
	MUST(write(two[1], "abc", 3) == 3 && !close(two[1]));
	ask(two[0], POLLIN);
	SAY(read(two[0], text, 2));
	SAY(read(two[0], text, 8));
	SAY(read(two[0], text, 8));
	ask(two[0], POLLIN);
	MUST(!close(two[0]) && !pipe(two) && !close(two[0]));
	ask(two[1], POLLOUT);
	signal(SIGPIPE, handler);
	SAY(write(two[1], "x", 1));
	SAY(write(two[1], "x", 0));
	signal(SIGPIPE, SIG_IGN);
	SAY(write(two[1], "x", 1));
	fflush(stdout);
	if (!fork()) {
		signal(SIGPIPE, SIG_DFL);
		write(two[1], "x", 1) == 1 ? _exit(0) : _exit(1);
	}
	MUST(wait(&status) > 0);
	printf("killed by %d\n", WTERMSIG(status));
	return 0;
}
