/* ip(7): IP_PKTINFO, IP_RECVTTL, IP_RECVTOS and SO_TIMESTAMPNS come as control messages, also of zero bytes. */
#include "inet.h"
#include <time.h>

int main(void)
{
	struct sockaddr_in name, from;
	int to = bound(SOCK_DGRAM, &name), fd = socket(AF_INET, SOCK_DGRAM, 0), on = 1, ttl = 21, tos = 0x20;
	char some[8] = "", room[512];
	struct iovec part = {some, sizeof some};
	struct msghdr message = {.msg_name = &from,
				 .msg_namelen = sizeof from,
				 .msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = room,
				 .msg_controllen = sizeof room};

	SAY(setsockopt(to, IPPROTO_IP, IP_PKTINFO, &on, sizeof on));
	SAY(setsockopt(to, IPPROTO_IP, IP_RECVTTL, &on, sizeof on));
	SAY(setsockopt(to, IPPROTO_IP, IP_RECVTOS, &on, sizeof on));
	SAY(setsockopt(to, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on));
	SAY(setsockopt(fd, IPPROTO_IP, IP_TTL, &ttl, sizeof ttl));
	SAY(setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof tos));
	SAY(sendto(fd, "", 0, 0, (void *)&name, sizeof name));
	SAY(recvmsg(to, &message, 0));
	printf("flags %x name %u\n", (unsigned)message.msg_flags, message.msg_namelen);
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&message); h; h = CMSG_NXTHDR(&message, h)) {
		printf("level %d type %d length %zu", h->cmsg_level, h->cmsg_type, h->cmsg_len);
		if (h->cmsg_level == IPPROTO_IP && h->cmsg_type == IP_TTL)
			printf(" ttl %d", *(int *)CMSG_DATA(h));
		if (h->cmsg_level == IPPROTO_IP && h->cmsg_type == IP_PKTINFO)
			printf(" to %s", inet_ntoa(((struct in_pktinfo *)CMSG_DATA(h))->ipi_addr));
		printf("\n");
	}
	message.msg_controllen = CMSG_LEN(4);
	SAY(sendto(fd, "abcdefghijk", 11, 0, (void *)&name, sizeof name));
	SAY(recvmsg(to, &message, 0));
	printf("flags %x\n", (unsigned)message.msg_flags);
	return 0;
}
