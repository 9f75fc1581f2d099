/* tcp(7): TCP_INFO gives as much of the struct as there is room for; its state follows the connection. */
#include "inet.h"

static void state(const char *what, int fd)
{
	struct tcp_info info;
	socklen_t length = sizeof info;

	memset(&info, 0xee, sizeof info);
	MUST(!getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length));
	printf("%s: state %d length %u\n", what, info.tcpi_state, length);
}

int main(void)
{
	struct sockaddr_in name;
	int fd = bound(SOCK_STREAM, &name), pair[2];
	unsigned char little[8] = {0};
	socklen_t length = 1;
	char some[8];

	state("closed", fd);
	MUST(!listen(fd, 5));
	state("listening", fd);
	tcp_pair(pair);
	state("connected", pair[0]);
	SAY(getsockopt(pair[0], IPPROTO_TCP, TCP_INFO, little, &length));
	printf("%d %u\n", little[0], length);
	MUST(!shutdown(pair[0], SHUT_WR) && read(pair[1], some, 8) == 0);
	state("close wait", pair[1]);
	MUST(!shutdown(pair[1], SHUT_WR) && read(pair[0], some, 8) == 0);
	return 0;
}
