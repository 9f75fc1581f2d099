/* recv(2): with MSG_WAITALL a signal ends the wait with the part that has come. */
#include "../observe.h"
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>

static void handler(int sig)
{
	(void)sig;
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler};
	struct itimerval often = {{.tv_usec = 20000}, {.tv_usec = 20000}}, off = {0};
	char some[8];
	int pair[2];

	for (int flags = 0; flags < 2; flags++) {
		action.sa_flags = flags ? SA_RESTART : 0;
		MUST(!sigaction(SIGALRM, &action, NULL) && !socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
		MUST(write(pair[1], "abc", 3) == 3 && !setitimer(ITIMER_REAL, &often, NULL));
		long got = recv(pair[0], some, 8, MSG_WAITALL);
		setitimer(ITIMER_REAL, &off, NULL);
		printf("%d: %ld %.3s\n", flags, got, some);
	}
	return 0;
}
