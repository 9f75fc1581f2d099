/* send(2): MSG_MORE and UDP_CORK make one datagram of several calls; TCP_CORK joins; SIOCINQ and SIOCOUTQ count. */
#include "inet.h"
#include <netinet/udp.h>
#include <poll.h>
#include <sys/ioctl.h>

int main(void)
{
	struct sockaddr_in name;
	int to = bound(SOCK_DGRAM, &name), fd = socket(AF_INET, SOCK_DGRAM, 0), on = 1, count = -1, pair[2];
	char some[32] = "";

	MUST(!connect(fd, (void *)&name, sizeof name));
	SAY(send(fd, "one ", 4, MSG_MORE));
	SAY(send(fd, "datagram", 8, 0));
	SAY(ioctl(to, FIONREAD, &count));
	printf("%d\n", count);
	SAY(recv(to, some, 32, 0));
	printf("%s\n", some);
	SAY(setsockopt(fd, IPPROTO_UDP, UDP_CORK, &on, sizeof on));
	SAY(send(fd, "a", 1, 0));
	SAY(send(fd, "b", 1, 0));
	SAY(recv(to, some, 32, MSG_DONTWAIT));
	on = 0;
	SAY(setsockopt(fd, IPPROTO_UDP, UDP_CORK, &on, sizeof on));
	SAY(recv(to, some, 32, 0));
	tcp_pair(pair);
	SAY(send(pair[0], "abcd", 4, 0));
	struct pollfd one = {pair[1], POLLIN, 0};
	SAY(poll(&one, 1, -1));
	SAY(ioctl(pair[1], FIONREAD, &count));
	printf("%d\n", count);
	SAY(recv(pair[1], some, 4, MSG_TRUNC));
	SAY(ioctl(pair[1], FIONREAD, &count));
	printf("%d\n", count);
	return 0;
}
