/* shutdown(2): after SHUT_WR the other end reads to the end and may still send; SHUT_RD; ENOTCONN without a peer. */
#include "inet.h"
#include <poll.h>

int main(void)
{
	int pair[2];
	char some[16];
	struct pollfd one;

	tcp_pair(pair);
	SAY(write(pair[0], "question", 8));
	SAY(shutdown(pair[0], SHUT_WR));
	SAY(recv(pair[1], some, 16, MSG_WAITALL));
	SAY(read(pair[1], some, 16));
	one = (struct pollfd){pair[1], POLLIN | POLLOUT | POLLRDHUP, 0};
	SAY(poll(&one, 1, -1));
	printf("%x\n", one.revents);
	SAY(send(pair[0], "x", 1, MSG_NOSIGNAL));
	SAY(write(pair[1], "answer", 6));
	SAY(recv(pair[0], some, 6, MSG_WAITALL));
	SAY(shutdown(pair[1], SHUT_RDWR));
	SAY(read(pair[0], some, 16));
	one = (struct pollfd){pair[0], POLLIN | POLLOUT | POLLRDHUP, 0};
	SAY(poll(&one, 1, -1));
	printf("%x\n", one.revents);
	SAY(shutdown(pair[0], 5));
	int alone = socket(AF_INET, SOCK_STREAM, 0);
	SAY(shutdown(alone, SHUT_WR));
	SAY(read(alone, some, 1));
	SAY(send(alone, "x", 1, MSG_NOSIGNAL));
	SAY(shutdown(1, SHUT_WR));
	tcp_pair(pair);
	SAY(shutdown(pair[0], SHUT_RD));
	SAY(read(pair[0], some, 1));
	return 0;
}
