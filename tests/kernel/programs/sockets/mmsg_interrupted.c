/* recvmmsg(2), BUGS: after some messages a signal or an empty queue ends the call with what there is. */
#include "inet.h"
#include <signal.h>
#include <sys/time.h>

static void handler(int sig)
{
	(void)sig;
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler};
	struct itimerval often = {{.tv_usec = 20000}, {.tv_usec = 20000}}, off = {0};
	struct sockaddr_in name;
	int to = bound(SOCK_DGRAM, &name), fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct mmsghdr all[4] = {0};
	struct iovec parts[4];
	char rooms[4][4];

	for (int i = 0; i < 4; i++) {
		parts[i] = (struct iovec){rooms[i], 4};
		all[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
	}
	MUST(!sigaction(SIGALRM, &action, NULL));
	for (int i = 0; i < 2; i++)
		MUST(sendto(fd, "ab", 2, 0, (void *)&name, sizeof name) == 2);
	MUST(!setitimer(ITIMER_REAL, &often, NULL));
	SAY(recvmmsg(to, all, 4, 0, NULL));
	MUST(!setitimer(ITIMER_REAL, &off, NULL));
	printf("%u %u\n", all[0].msg_len, all[1].msg_len);
	return 0;
}
