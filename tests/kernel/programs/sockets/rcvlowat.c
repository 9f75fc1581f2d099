/* socket(7): with SO_RCVLOWAT a socket is readable only when so much has come; SO_PEEK_OFF moves the place of a peek. */
#include "../observe.h"
#include <poll.h>
#include <sys/socket.h>

int main(void)
{
	int pair[2], low = 4, off = 1;
	socklen_t length = sizeof low;
	char some[8] = "";

	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	SAY(setsockopt(pair[0], SOL_SOCKET, SO_RCVLOWAT, &low, sizeof low));
	SAY(getsockopt(pair[0], SOL_SOCKET, SO_RCVLOWAT, &low, &length));
	printf("%d\n", low);
	MUST(write(pair[1], "abc", 3) == 3);
	SAY(recv(pair[0], some, 8, MSG_DONTWAIT | MSG_PEEK));
	MUST(write(pair[1], "def", 3) == 3);
	struct pollfd one = {pair[0], POLLIN, 0};
	SAY(poll(&one, 1, -1));
	SAY(setsockopt(pair[0], SOL_SOCKET, SO_PEEK_OFF, &off, sizeof off));
	SAY(recv(pair[0], some, 2, MSG_PEEK));
	printf("%.2s\n", some);
	SAY(recv(pair[0], some, 2, MSG_PEEK));
	printf("%.2s\n", some);
	SAY(getsockopt(pair[0], SOL_SOCKET, SO_PEEK_OFF, &off, &length));
	printf("%d\n", off);
	SAY(recv(pair[0], some, 8, 0));
	printf("%.6s\n", some);
	return 0;
}
