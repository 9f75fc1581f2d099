/* socket(7): SO_RCVTIMEO and SO_SNDTIMEO end receive, accept and send with EAGAIN, and a part of a send with its length. */
#include "inet.h"
#include <sys/time.h>

int main(void)
{
	struct timeval little = {0, 20000}, got, wrong = {0, 1000000};
	socklen_t length = sizeof got;
	struct sockaddr_in name;
	int pair[2], listener = bound(SOCK_STREAM, &name);
	static char much[10 << 20];
	char some[4];

	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair) && !listen(listener, 1));
	SAY(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &little, sizeof little));
	SAY(setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &little, sizeof little));
	SAY(getsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &got, &length));
	printf("%ld %ld\n", (long)got.tv_sec, (long)got.tv_usec);
	SAY(recv(pair[0], some, 4, 0));
	SAY(read(pair[0], some, 4));
	MUST(write(pair[1], "ab", 2) == 2);
	SAY(recv(pair[0], some, 4, MSG_WAITALL));
	long sent = send(pair[0], much, sizeof much, 0);
	printf("a part %d\n", sent > 0 && sent < (long)sizeof much);
	SAY(send(pair[0], much, sizeof much, 0));
	SAY(setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &little, sizeof little));
	SAY(accept(listener, NULL, NULL));
	SAY(setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &wrong, sizeof wrong));
	return 0;
}
