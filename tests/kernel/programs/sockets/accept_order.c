/* listen(2), accept(2): connections wait in the backlog in their order, with their addresses; a closed one is accepted too. */
#include "inet.h"
#include <fcntl.h>

int main(void)
{
	struct sockaddr_in name, from;
	int listener = bound(SOCK_STREAM, &name), clients[3], on = 1;
	in_port_t ports[3];
	char some[4] = "";

	MUST(!listen(listener, 5));
	for (int i = 0; i < 3; i++) {
		socklen_t length = sizeof from;
		clients[i] = socket(AF_INET, SOCK_STREAM, 0);
		MUST(!connect(clients[i], (void *)&name, sizeof name));
		MUST(!getsockname(clients[i], (void *)&from, &length));
		ports[i] = from.sin_port;
		char c = (char)('a' + i);
		MUST(write(clients[i], &c, 1) == 1);
	}
	close(clients[1]);
	for (int i = 0; i < 3; i++) {
		socklen_t length = sizeof from;
		int fd = accept4(listener, (void *)&from, &length, SOCK_CLOEXEC | (i == 2 ? SOCK_NONBLOCK : 0));
		MUST(fd >= 0);
		printf("port %d length %u cloexec %d nonblock %d", from.sin_port == ports[i], length,
		       fcntl(fd, F_GETFD), !!(fcntl(fd, F_GETFL) & O_NONBLOCK));
		printf(" read %zd %s\n", recv(fd, some, 1, 0), some);
	}
	SAY(fcntl(listener, F_SETFL, O_NONBLOCK));
	SAY(accept(listener, NULL, NULL));
	SAY(accept4(listener, NULL, NULL, 0x1234));
	SAY(setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
	SAY(accept(0, NULL, NULL));
	close(listener);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	SAY(connect(fd, (void *)&name, sizeof name));
	return 0;
}
