/* socket(7): SO_TIMESTAMP comes with a datagram as a control message, SIOCGSTAMP tells the last one's; SO_RXQ_OVFL. */
#include "inet.h"
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/time.h>

int main(void)
{
	struct sockaddr_in name;
	int to = bound(SOCK_DGRAM, &name), fd = socket(AF_INET, SOCK_DGRAM, 0), on = 1;
	struct timeval stamp = {0}, last = {0}, now;
	char some[4], room[256];
	struct iovec part = {some, 4};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};

	SAY(ioctl(to, SIOCGSTAMP, &last));
	SAY(setsockopt(to, SOL_SOCKET, SO_TIMESTAMP, &on, sizeof on));
	MUST(sendto(fd, "abc", 3, 0, (void *)&name, sizeof name) == 3);
	SAY(recvmsg(to, &message, 0));
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&message); h; h = CMSG_NXTHDR(&message, h)) {
		printf("level %d type %d length %zu\n", h->cmsg_level, h->cmsg_type, h->cmsg_len);
		memcpy(&stamp, CMSG_DATA(h), sizeof stamp);
	}
	MUST(!gettimeofday(&now, NULL));
	printf("plausible %d\n", now.tv_sec - stamp.tv_sec >= 0 && now.tv_sec - stamp.tv_sec < 100);
	MUST(sendto(fd, "abc", 3, 0, (void *)&name, sizeof name) == 3);
	SAY(recv(to, some, 4, 0));
	SAY(ioctl(to, SIOCGSTAMP, &last));
	printf("later %d\n",
	       last.tv_sec > stamp.tv_sec || (last.tv_sec == stamp.tv_sec && last.tv_usec >= stamp.tv_usec));
	return 0;
}
