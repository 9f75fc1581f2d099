/* recv(2): recvfrom with a negative length of the address fails with EINVAL after the datagram has been taken. */
#include "inet.h"

int main(void)
{
	struct sockaddr_in name, from;
	int to = bound(SOCK_DGRAM, &name), fd = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t length = (socklen_t)-1;
	char some[8] = "........";

	MUST(sendto(fd, "first", 5, 0, (void *)&name, sizeof name) == 5);
	MUST(sendto(fd, "second", 6, 0, (void *)&name, sizeof name) == 6);
	SAY(recvfrom(to, some, 8, 0, (void *)&from, &length));
	printf("%.8s\n", some);
	SAY(recvfrom(to, some, 8, 0, (void *)&from, NULL));
	printf("%.8s\n", some);
	length = sizeof from;
	SAY(recvfrom(to, some, 8, MSG_DONTWAIT, (void *)&from, &length));
	SAY(accept(to, (void *)&from, &length));
	return 0;
}
