/* recvmsg(2): msg_namelen, msg_controllen and msg_flags are written as they came; a short name is cut. */
#include "inet.h"

int main(void)
{
	struct sockaddr_in name;
	int to = bound(SOCK_DGRAM, &name), fd = socket(AF_INET, SOCK_DGRAM, 0);
	char some[4], room[64];
	unsigned char from[sizeof(struct sockaddr_in)];
	struct iovec part = {some, sizeof some};
	struct msghdr message = {.msg_name = from,
				 .msg_namelen = 4,
				 .msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = room,
				 .msg_controllen = sizeof room,
				 .msg_flags = 0x7777};

	memset(from, 0xaa, sizeof from);
	MUST(sendto(fd, "abcdef", 6, 0, (void *)&name, sizeof name) == 6);
	SAY(recvmsg(to, &message, MSG_TRUNC));
	printf("name %u control %zu flags %x\n", message.msg_namelen, message.msg_controllen,
	       (unsigned)message.msg_flags);
	printf("family %d after it %x\n", from[0], from[4]);
	message.msg_namelen = 0;
	MUST(sendto(fd, "", 0, 0, (void *)&name, sizeof name) == 0);
	SAY(recvmsg(to, &message, 0));
	printf("name %u flags %x\n", message.msg_namelen, (unsigned)message.msg_flags);
	SAY(recvmsg(to, &message, MSG_DONTWAIT));
	printf("name %u flags %x\n", message.msg_namelen, (unsigned)message.msg_flags);
	MUST(sendto(fd, "last", 4, 0, (void *)&name, sizeof name) == 4);
	socklen_t length = 4;
	SAY(recvfrom(to, some, 2, 0, (void *)from, &length));
	printf("length %u\n", length);
	SAY(recvfrom(to, some, 2, MSG_DONTWAIT, (void *)from, &length));
	return 0;
}
