/* send(2), MSG_ZEROCOPY: the kernel tells by the error queue when the memory is free again. */
#include "inet.h"
#include <linux/errqueue.h>
#include <poll.h>

#ifndef SO_ZEROCOPY
#define SO_ZEROCOPY 60
#endif

int main(void)
{
	static char much[20000], got[20000];
	int pair[2], on = 1;
	char room[256];
	struct msghdr message = {.msg_control = room, .msg_controllen = sizeof room};

	tcp_pair(pair);
	SAY(send(pair[0], much, 100, MSG_ZEROCOPY));
	SAY(recv(pair[1], got, 100, MSG_WAITALL));
	if (setsockopt(pair[0], SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on))
		skip("SO_ZEROCOPY");
	memset(much, 'z', sizeof much);
	SAY(send(pair[0], much, sizeof much, MSG_ZEROCOPY));
	SAY(recv(pair[1], got, sizeof got, MSG_WAITALL));
	printf("same %d\n", !memcmp(much, got, sizeof got));
	struct pollfd one = {pair[0], 0, 0};
	SAY(poll(&one, 1, -1));
	printf("%x\n", one.revents);
	SAY(recvmsg(pair[0], &message, MSG_ERRQUEUE));
	struct cmsghdr *h = CMSG_FIRSTHDR(&message);
	struct sock_extended_err error;
	MUST(h);
	memcpy(&error, CMSG_DATA(h), sizeof error);
	printf("origin %d from %u to %u\n", error.ee_origin, error.ee_info, error.ee_data);
	return 0;
}
