/* tcp(7), socket(7): options are read back as they were set, some doubled or limited, some only of one size. */
#include "inet.h"

static void set_get(int fd, int level, int option, const char *name, int value)
{
	int got = -1, set = setsockopt(fd, level, option, &value, sizeof value), reason = errno;
	socklen_t length = sizeof got;
	int get = getsockopt(fd, level, option, &got, &length);

	printf("%s = %d: %s", name, value, set ? strerrorname_np(reason) : "ok");
	if (get)
		printf(", %s\n", strerrorname_np(errno));
	else
		printf(", %d (%u)\n", got, length);
}

#define TRY(level, option, value) set_get(fd, level, option, #option, value)

int main(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in name;
	char text[16] = "reno";
	socklen_t length;

	TRY(SOL_SOCKET, SO_REUSEADDR, 7);
	TRY(SOL_SOCKET, SO_KEEPALIVE, 1);
	TRY(SOL_SOCKET, SO_SNDBUF, 10000);
	TRY(SOL_SOCKET, SO_RCVBUF, 1);
	TRY(SOL_SOCKET, SO_RCVLOWAT, 5);
	TRY(SOL_SOCKET, SO_PRIORITY, 3);
	TRY(SOL_SOCKET, SO_TYPE, 3);
	TRY(SOL_SOCKET, SO_DOMAIN, 3);
	TRY(SOL_SOCKET, SO_PROTOCOL, 3);
	TRY(SOL_SOCKET, SO_ACCEPTCONN, 3);
	TRY(SOL_SOCKET, SO_BROADCAST, 1);
	TRY(SOL_SOCKET, SO_TIMESTAMP, 1);
	TRY(SOL_SOCKET, 9999, 1);
	TRY(IPPROTO_TCP, TCP_NODELAY, 1);
	TRY(IPPROTO_TCP, TCP_CORK, 1);
	TRY(IPPROTO_TCP, TCP_MAXSEG, 1000);
	TRY(IPPROTO_TCP, TCP_MAXSEG, 3);
	TRY(IPPROTO_TCP, TCP_KEEPIDLE, 30);
	TRY(IPPROTO_TCP, TCP_KEEPINTVL, 0);
	TRY(IPPROTO_TCP, TCP_KEEPCNT, 4);
	TRY(IPPROTO_TCP, TCP_SYNCNT, 3);
	TRY(IPPROTO_TCP, TCP_LINGER2, 5);
	TRY(IPPROTO_TCP, TCP_DEFER_ACCEPT, 3);
	TRY(IPPROTO_TCP, TCP_USER_TIMEOUT, 1234);
	TRY(IPPROTO_TCP, TCP_QUICKACK, 0);
	TRY(IPPROTO_IP, IP_TTL, 33);
	TRY(IPPROTO_IP, IP_TTL, 300);
	TRY(IPPROTO_IP, IP_TOS, 0x10);
	TRY(IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
	TRY(IPPROTO_IPV6, IPV6_V6ONLY, 1);
	SAY(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, text, 4));
	memset(text, 'x', sizeof text);
	length = sizeof text;
	SAY(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, text, &length));
	printf("%.*s %u\n", (int)length, text, length);
	length = 2;
	SAY(getsockopt(fd, SOL_SOCKET, SO_TYPE, text, &length));
	printf("%d %u\n", text[0], length);
	SAY(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, text, 1));
	SAY(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, (void *)8, 4));
	SAY(getsockopt(0, SOL_SOCKET, SO_TYPE, text, &length));
	fd = bound(SOCK_STREAM, &name);
	SAY(listen(fd, 1));
	TRY(SOL_SOCKET, SO_ACCEPTCONN, 3);
	return 0;
}
