/* ipv6(7): a socket of AF_INET6 takes IPv4 too, with mapped addresses, unless IPV6_V6ONLY is set. */
#include "inet.h"

int main(void)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6}, from, name;
	struct sockaddr_in v4;
	socklen_t length = sizeof name, from_length = sizeof from;
	int fd = socket(AF_INET6, SOCK_DGRAM, 0), four = socket(AF_INET, SOCK_DGRAM, 0), on = 1;
	char some[8], text[64];

	if (fd < 0)
		skip("IPv6");
	SAY(bind(fd, (void *)&any, sizeof any));
	MUST(!getsockname(fd, (void *)&name, &length));
	printf("length %u\n", length);
	v4 = at_loopback(name.sin6_port);
	SAY(sendto(four, "hi", 2, 0, (void *)&v4, sizeof v4));
	SAY(recvfrom(fd, some, 8, 0, (void *)&from, &from_length));
	printf("from %s length %u\n", inet_ntop(AF_INET6, &from.sin6_addr, text, sizeof text), from_length);
	SAY(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on));
	int six = socket(AF_INET6, SOCK_DGRAM, 0);
	SAY(setsockopt(six, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on));
	SAY(bind(six, (void *)&name, sizeof name));
	SAY(setsockopt(six, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on));
	on = 64;
	SAY(setsockopt(six, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &on, sizeof on));
	on = 0;
	length = sizeof on;
	SAY(getsockopt(six, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &on, &length));
	printf("hops %d\n", on);
	return 0;
}
