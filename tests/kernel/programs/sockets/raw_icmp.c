/* raw(7): as root an echo request to the loopback address comes back as a reply; without the right EPERM. */
#include "inet.h"
#include <netinet/ip_icmp.h>
#include <sys/wait.h>

static unsigned short sum(const void *data, size_t size)
{
	const unsigned char *at = data;
	unsigned total = 0;

	for (size_t i = 0; i < size; i += 2)
		total += at[i] | (unsigned)at[i + 1] << 8;
	total = (total & 0xffff) + (total >> 16);
	return (unsigned short)~(total + (total >> 16));
}

int main(void)
{
	struct sockaddr_in to = at_loopback(0);
	struct icmphdr ask = {.type = ICMP_ECHO};
	unsigned char room[256];
	int fd = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP), status;

	if (fd < 0)
		skip("raw sockets");
	ask.un.echo.id = (unsigned short)getpid();
	ask.un.echo.sequence = 77;
	ask.checksum = sum(&ask, sizeof ask);
	SAY(sendto(fd, &ask, sizeof ask, 0, (void *)&to, sizeof to));
	for (;;) {
		ssize_t got = recv(fd, room, sizeof room, 0);
		struct icmphdr *answer = (void *)(room + 20);
		if (got >= 28 && answer->type == ICMP_ECHOREPLY && answer->un.echo.id == ask.un.echo.id)
			break;
	}
	printf("reply %d\n", ((struct icmphdr *)(room + 20))->un.echo.sequence);
	pid_t child = fork();
	if (!child) {
		MUST(!setresuid(65533, 65533, 65533));
		SAY(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
	return 0;
}
