/* udp(7), ip(7): a datagram nobody takes comes back as ECONNREFUSED; with IP_RECVERR its details are in the error queue. */
#include "inet.h"
#include <linux/errqueue.h>
#include <poll.h>

int main(void)
{
	struct sockaddr_in gone, from;
	int dead = bound(SOCK_DGRAM, &gone), fd = socket(AF_INET, SOCK_DGRAM, 0), on = 1;
	char some[32] = "", room[512];
	struct iovec part = {some, sizeof some};
	struct msghdr message = {.msg_name = &from,
				 .msg_namelen = sizeof from,
				 .msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = room,
				 .msg_controllen = sizeof room};
	struct pollfd one = {fd, POLLIN, 0};

	close(dead);
	SAY(connect(fd, (void *)&gone, sizeof gone));
	SAY(send(fd, "hello", 5, 0));
	SAY(poll(&one, 1, -1));
	printf("%x\n", one.revents);
	SAY(recv(fd, some, 8, 0));
	SAY(setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof on));
	SAY(recvmsg(fd, &message, MSG_ERRQUEUE));
	SAY(send(fd, "again", 5, 0));
	SAY(poll(&one, 1, -1));
	SAY(recvmsg(fd, &message, MSG_ERRQUEUE));
	printf("'%s' flags %x port %d\n", some, (unsigned)message.msg_flags, from.sin_port == gone.sin_port);
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&message); h; h = CMSG_NXTHDR(&message, h)) {
		struct sock_extended_err error;

		memcpy(&error, CMSG_DATA(h), sizeof error);
		printf("level %d type %d: %s origin %d type %d code %d\n", h->cmsg_level, h->cmsg_type,
		       strerrorname_np((int)error.ee_errno), error.ee_origin, error.ee_type, error.ee_code);
	}
	SAY(recvmsg(fd, &message, MSG_ERRQUEUE));
	return 0;
}
