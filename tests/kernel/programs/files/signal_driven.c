/* fcntl(2): O_ASYNC: F_SETSIG and F_SETOWN_EX send a signal with si_fd and si_band when a pipe is ready. */
#include "../observe.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>

static volatile sig_atomic_t count, of, band, code;

static void handler(int number, siginfo_t *info, void *context)
{
	(void)number, (void)context;
	count++;
	of = info->si_fd;
	band = (int)info->si_band;
	code = info->si_code;
}

static void show(int fd)
{
	printf("%d, its descriptor: %d, POLLIN: %d, POLL_IN: %d\n", count, of == fd, (band & POLLIN) != 0,
	       code == POLL_IN);
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct f_owner_ex owner = {F_OWNER_TID, gettid()}, got;
	char byte;
	int two[2], on = 1;

	MUST(!pipe(two) && !sigaction(SIGRTMIN + 1, &action, NULL) && !sigaction(SIGIO, &action, NULL));
	SAY(fcntl(two[0], F_GETOWN));
	SAY(fcntl(two[0], F_GETSIG));
	SAY(fcntl(two[0], F_SETOWN_EX, &owner));
	MUST(!fcntl(two[0], F_GETOWN_EX, &got));
	printf("%d %d\n", got.type, got.pid == gettid());
	SAY(fcntl(two[0], F_SETSIG, SIGRTMIN + 1));
	SAY(fcntl(two[0], F_SETSIG, 100));
	MUST(!fcntl(two[0], F_SETFL, O_ASYNC));
	printf("%d\n", (fcntl(two[0], F_GETFL) & O_ASYNC) != 0);
	MUST(write(two[1], "x", 1) == 1);
	show(two[0]);
	MUST(read(two[0], &byte, 1) == 1);
	SAY(fcntl(two[0], F_SETSIG, 0));
	SAY(fcntl(two[0], F_SETOWN, getpid()));
	printf("%d\n", fcntl(two[0], F_GETOWN) == getpid());
	of = -1;
	MUST(write(two[1], "y", 1) == 1);
	printf("%d, no descriptor: %d\n", count, of != two[0]);
	on = 0;
	SAY(ioctl(two[0], FIOASYNC, &on));
	MUST(write(two[1], "z", 1) == 1);
	printf("%d\n", count);
	SAY(fcntl(two[0], F_SETOWN, -getpgrp()));
	printf("%d\n", fcntl(two[0], F_GETOWN) == -getpgrp());
	owner.type = 7;
	SAY(fcntl(two[0], F_SETOWN_EX, &owner));
	return 0;
}
