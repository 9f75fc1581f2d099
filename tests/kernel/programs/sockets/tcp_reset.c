/* socket(7): closing with SO_LINGER of 0 seconds resets the connection: ECONNRESET, POLLHUP and SO_ERROR at the other end. */
#include "inet.h"
#include <poll.h>

int main(void)
{
	struct linger hard = {1, 0}, got;
	socklen_t length = sizeof got;
	int pair[2], error = 77;
	char some[8];
	struct pollfd one;

	tcp_pair(pair);
	SAY(setsockopt(pair[0], SOL_SOCKET, SO_LINGER, &hard, sizeof hard));
	SAY(getsockopt(pair[0], SOL_SOCKET, SO_LINGER, &got, &length));
	printf("%d %d\n", got.l_onoff, got.l_linger);
	SAY(close(pair[0]));
	one = (struct pollfd){pair[1], POLLIN, 0};
	SAY(poll(&one, 1, -1));
	printf("%x\n", one.revents);
	SAY(read(pair[1], some, 8));
	SAY(read(pair[1], some, 8));
	SAY(send(pair[1], "x", 1, MSG_NOSIGNAL));
	tcp_pair(pair);
	setsockopt(pair[0], SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
	close(pair[0]);
	one.fd = pair[1];
	SAY(poll(&one, 1, -1));
	length = sizeof error;
	SAY(getsockopt(pair[1], SOL_SOCKET, SO_ERROR, &error, &length));
	printf("%s\n", strerrorname_np(error));
	SAY(getsockopt(pair[1], SOL_SOCKET, SO_ERROR, &error, &length));
	printf("%d\n", error);
	SAY(read(pair[1], some, 8));
	tcp_pair(pair);
	MUST(write(pair[1], "unread", 6) == 6);
	one.fd = pair[0];
	SAY(poll(&one, 1, -1));
	close(pair[0]);
	one.fd = pair[1];
	SAY(poll(&one, 1, -1));
	SAY(read(pair[1], some, 8));
	return 0;
}
