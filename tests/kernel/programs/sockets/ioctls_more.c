/* socket(7), tcp(7), unix(7): FIONBIO, FIOASYNC, FIOSETOWN, SIOCOUTQ, SIOCGSTAMPNS, SIOCGIFMAP, and an ioctl of another kind. */
#include "inet.h"
#include <fcntl.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <time.h>

int main(void)
{
	int pair[2], on = 1, value = -1, owner = getpid();
	struct ifreq request = {.ifr_name = "lo"};
	struct timespec stamp = {0};
	char some[4];

	tcp_pair(pair);
	SAY(ioctl(pair[0], FIONBIO, &on));
	SAY(fcntl(pair[0], F_GETFL) & O_NONBLOCK);
	SAY(ioctl(pair[0], FIOSETOWN, &owner));
	SAY(ioctl(pair[0], FIOGETOWN, &value));
	printf("%d\n", value == getpid());
	SAY(ioctl(pair[0], SIOCGPGRP, &value));
	SAY(ioctl(pair[0], FIOCLEX));
	SAY(fcntl(pair[0], F_GETFD));
	SAY(ioctl(pair[0], FIONCLEX));
	SAY(ioctl(pair[0], FIOASYNC, &on));
	SAY(fcntl(pair[0], F_GETFL) & O_ASYNC);
	on = 0;
	SAY(ioctl(pair[0], FIOASYNC, &on));
	MUST(write(pair[0], "abc", 3) == 3 && recv(pair[1], some, 3, MSG_WAITALL) == 3);
	do
		MUST(!ioctl(pair[0], SIOCOUTQ, &value));
	while (value);
	SAY(ioctl(pair[0], SIOCOUTQNSD, &value));
	printf("%d\n", value);
	SAY(ioctl(pair[1], SIOCGSTAMPNS, &stamp));
	SAY(ioctl(pair[0], SIOCGIFMAP, &request));
	SAY(ioctl(pair[0], TCGETS, some));
	SAY(ioctl(999, FIONREAD, &value));
	SAY(ioctl(pair[0], FIONREAD, 8));
	return 0;
}
