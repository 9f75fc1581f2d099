/* packet(7): as root a packet socket on lo sees what is sent there; the address says in which direction. */
#include "inet.h"
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>

int main(void)
{
	int fd = socket(AF_PACKET, SOCK_DGRAM, 0), udp, found = 0;
	struct sockaddr_ll name = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP)}, from;
	struct sockaddr_in to;
	struct pollfd one = {fd, POLLIN, 0};
	unsigned char room[2048];

	if (fd < 0)
		skip("AF_PACKET");
	name.sll_ifindex = (int)if_nametoindex("lo");
	SAY(bind(fd, (void *)&name, sizeof name));
	udp = bound(SOCK_DGRAM, &to);
	MUST(sendto(udp, "to be seen", 10, 0, (void *)&to, sizeof to) == 10);
	while (!found) {
		socklen_t length = sizeof from;
		MUST(poll(&one, 1, -1) == 1);
		ssize_t got = recvfrom(fd, room, sizeof room, 0, (void *)&from, &length);
		if (got == 38 && room[9] == IPPROTO_UDP && !memcmp(room + 22, &to.sin_port, 2) &&
		    !memcmp(room + 28, "to be seen", 10))
			found = 1;
	}
	printf("hardware %d length %d\n", from.sll_hatype, from.sll_halen);
	return 0;
}
