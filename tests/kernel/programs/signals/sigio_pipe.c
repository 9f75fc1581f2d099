/* fcntl(2): with O_ASYNC and F_SETOWN input raises SIGIO; with F_SETSIG another signal that says which descriptor. */
#include "../observe.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

static int pair[2];

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)context;
	printf("signal %d", sig);
	if (sig != SIGIO)
		printf(" code %d band %lx descriptor %d", info->si_code, info->si_band, info->si_fd == pair[0]);
	printf("\n");
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct f_owner_ex owner = {F_OWNER_TID, gettid()};
	char c;

	MUST(!sigaction(SIGIO, &action, NULL) && !sigaction(SIGRTMIN, &action, NULL));
	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	SAY(fcntl(pair[0], F_SETOWN, getpid()));
	printf("owner %d\n", fcntl(pair[0], F_GETOWN) == getpid());
	SAY(fcntl(pair[0], F_SETFL, O_ASYNC | O_NONBLOCK));
	SAY(write(pair[1], "x", 1));
	SAY(read(pair[0], &c, 1));
	SAY(fcntl(pair[0], F_SETSIG, SIGRTMIN));
	SAY(fcntl(pair[0], F_GETSIG) == SIGRTMIN);
	SAY(write(pair[1], "y", 1));
	SAY(read(pair[0], &c, 1));
	SAY(fcntl(pair[0], F_SETOWN_EX, &owner));
	SAY(write(pair[1], "z", 1));
	owner = (struct f_owner_ex){0};
	SAY(fcntl(pair[0], F_GETOWN_EX, &owner));
	printf("type %d me %d\n", owner.type, owner.pid == gettid());
	SAY(fcntl(pair[0], F_SETOWN, -getpgrp()));
	SAY(fcntl(pair[0], F_GETOWN_EX, &owner));
	printf("type %d group %d\n", owner.type, owner.pid == getpgrp());
	SAY(fcntl(pair[0], F_SETOWN, getpid()));
	SAY(close(pair[1]));
	SAY(fcntl(pair[0], F_SETSIG, 70));
	SAY(fcntl(pair[0], F_GETFL) & (O_ASYNC | O_NONBLOCK));
	return 0;
}
