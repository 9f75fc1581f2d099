/* signal(7): a write that has moved something when a handler runs returns how much, not EINTR, with or without SA_RESTART. */
#include "../observe.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t handled;

static void handler(int sig)
{
	(void)sig;
	handled++;
}

int main(void)
{
	static char much[1 << 20];
	struct sigaction action = {.sa_handler = handler};
	struct itimerval often = {{.tv_usec = 20000}, {.tv_usec = 20000}}, off = {0};

	for (int flags = 0; flags < 2; flags++) {
		int fds[2];

		action.sa_flags = flags ? SA_RESTART : 0;
		MUST(!pipe(fds) && !sigaction(SIGALRM, &action, NULL));
		MUST(fcntl(fds[1], F_SETPIPE_SZ, 65536) == 65536);
		MUST(!setitimer(ITIMER_REAL, &often, NULL));
		handled = 0;
		long got = write(fds[1], much, sizeof much);
		int reason = errno;
		setitimer(ITIMER_REAL, &off, NULL);
		printf("%d: %ld %s handled %d\n", flags, got, got < 0 ? strerrorname_np(reason) : "", handled > 0);
	}
	return 0;
}
