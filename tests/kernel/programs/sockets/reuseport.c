/* socket(7): with SO_REUSEPORT several sockets share a port, without it EADDRINUSE; each datagram goes to one of them. */
#include "inet.h"
#include <poll.h>

int main(void)
{
	struct sockaddr_in name = at_loopback(0);
	socklen_t length = sizeof name;
	struct pollfd set[3];
	int on = 1, got = 0;
	char some[8];

	for (int i = 0; i < 3; i++) {
		set[i] = (struct pollfd){socket(AF_INET, SOCK_DGRAM, 0), POLLIN, 0};
		SAY(setsockopt(set[i].fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on));
		SAY(bind(set[i].fd, (void *)&name, sizeof name));
		if (!i)
			MUST(!getsockname(set[0].fd, (void *)&name, &length));
	}
	int other = socket(AF_INET, SOCK_DGRAM, 0);
	SAY(bind(other, (void *)&name, sizeof name));
	for (int i = 0; i < 10; i++)
		MUST(sendto(other, "x", 1, 0, (void *)&name, sizeof name) == 1);
	while (got < 10) {
		MUST(poll(set, 3, -1) > 0);
		for (int i = 0; i < 3; i++)
			while (recv(set[i].fd, some, 8, MSG_DONTWAIT) == 1)
				got++;
	}
	printf("got %d\n", got);
	return 0;
}
