/* netdevice(7): requests of sockets with a name, or with words that point elsewhere: bridges. */
#include "../observe.h"
#include <linux/if_bridge.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static void list(int fd)
{
	int indices[8] = {0};
	unsigned long words[3] = {BRCTL_GET_BRIDGES, (unsigned long)indices, 8};
	const long n = SAY(ioctl(fd, SIOCGIFBR, words));

	for (long i = 0; i < n; i++) {
		struct ifreq r = {.ifr_ifindex = indices[i]};
		MUST(!ioctl(fd, SIOCGIFNAME, &r));
		printf("%s\n", r.ifr_name);
	}
}

int main(void)
{
	unsigned long words[3] = {BRCTL_GET_VERSION, 0, 0};
	struct ifreq r = {.ifr_name = "br-b"};

	if (unshare(CLONE_NEWNET))
		skip("no network namespaces");
	const int fd = socket(AF_INET, SOCK_DGRAM, 0);
	MUST(fd >= 0);
	if (ioctl(fd, SIOCBRADDBR, "br-a"))
		skip("no bridges");
	SAY(ioctl(fd, SIOCGIFBR, words));
	SAY(ioctl(fd, SIOCBRADDBR, "br-a"));
	SAY(ioctl(fd, SIOCBRADDBR, "br-b"));
	list(fd);
	r.ifr_ifindex = (int)if_nametoindex("br-a");
	SAY(ioctl(fd, SIOCBRADDIF, &r));
	SAY(ioctl(fd, SIOCBRDELIF, &r));
	SAY(ioctl(fd, SIOCBRDELBR, "br-a"));
	SAY(ioctl(fd, SIOCBRDELBR, "none"));
	list(fd);
	words[0] = 0x7777;
	SAY(ioctl(fd, SIOCGIFBR, words));
	return 0;
}
