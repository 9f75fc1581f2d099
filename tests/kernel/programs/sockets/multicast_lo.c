/* ip(7): a member of a group gets what is sent to it, looped back; after leaving it does not. */
#include "inet.h"
#include <net/if.h>
#include <poll.h>

int main(void)
{
	struct sockaddr_in group = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0xefff0107)};
	struct ip_mreqn member = {.imr_multiaddr.s_addr = htonl(0xefff0107)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0), out = socket(AF_INET, SOCK_DGRAM, 0), value;
	socklen_t length = sizeof group;
	unsigned char loop = 1, ttl = 0;
	struct pollfd one = {fd, POLLIN, 0};
	char some[8];

	member.imr_ifindex = (int)if_nametoindex("lo");
	member.imr_address.s_addr = htonl(INADDR_LOOPBACK);
	MUST(member.imr_ifindex > 0 && !bind(fd, (void *)&group, sizeof group));
	MUST(!getsockname(fd, (void *)&group, &length));
	SAY(setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &member, sizeof member));
	SAY(setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &member, sizeof member));
	SAY(setsockopt(out, IPPROTO_IP, IP_MULTICAST_IF, &member, sizeof member));
	SAY(setsockopt(out, IPPROTO_IP, IP_MULTICAST_TTL, &ttl, 1));
	SAY(setsockopt(out, IPPROTO_IP, IP_MULTICAST_LOOP, &loop, 1));
	length = sizeof value;
	SAY(getsockopt(out, IPPROTO_IP, IP_MULTICAST_TTL, &value, &length));
	printf("%d %u\n", value, length);
	if (sendto(out, "many", 4, 0, (void *)&group, sizeof group) != 4)
		skip("multicast on lo");
	SAY(poll(&one, 1, 2000));
	SAY(recv(fd, some, 8, MSG_DONTWAIT));
	SAY(setsockopt(fd, IPPROTO_IP, IP_DROP_MEMBERSHIP, &member, sizeof member));
	SAY(setsockopt(fd, IPPROTO_IP, IP_DROP_MEMBERSHIP, &member, sizeof member));
	return 0;
}
