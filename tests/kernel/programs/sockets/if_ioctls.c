/* netdevice(7): the ioctls of the loopback device; getifaddrs and if_nameindex list it. */
#include "inet.h"
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/ioctl.h>

int main(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), found = 0;
	struct ifreq request = {0}, list[64];
	struct ifconf all = {.ifc_len = sizeof list, .ifc_req = list};
	struct ifaddrs *addresses;
	struct if_nameindex *names;
	char name[IF_NAMESIZE];

	strcpy(request.ifr_name, "lo");
	SAY(ioctl(fd, SIOCGIFFLAGS, &request));
	printf("loopback %d up %d\n", !!(request.ifr_flags & IFF_LOOPBACK), !!(request.ifr_flags & IFF_UP));
	SAY(ioctl(fd, SIOCGIFADDR, &request));
	printf("%s\n", inet_ntoa(((struct sockaddr_in *)&request.ifr_addr)->sin_addr));
	SAY(ioctl(fd, SIOCGIFNETMASK, &request));
	printf("%s\n", inet_ntoa(((struct sockaddr_in *)&request.ifr_netmask)->sin_addr));
	SAY(ioctl(fd, SIOCGIFMTU, &request) == 0 && request.ifr_mtu > 1000);
	SAY(ioctl(fd, SIOCGIFINDEX, &request));
	printf("%d %d\n", request.ifr_ifindex, (int)if_nametoindex("lo"));
	SAY(ioctl(fd, SIOCGIFHWADDR, &request));
	printf("family %d\n", request.ifr_hwaddr.sa_family);
	SAY(ioctl(fd, SIOCGIFNAME, &request));
	SAY(ioctl(fd, SIOCGIFTXQLEN, &request));
	SAY(ioctl(fd, SIOCGIFMETRIC, &request));
	SAY(ioctl(fd, SIOCGIFBRDADDR, &request));
	SAY(ioctl(fd, SIOCGIFDSTADDR, &request));
	strcpy(request.ifr_name, "none77");
	SAY(ioctl(fd, SIOCGIFFLAGS, &request));
	SAY(ioctl(fd, SIOCGIFCONF, &all));
	for (unsigned i = 0; i < (unsigned)all.ifc_len / sizeof *list; i++)
		found |= !strcmp(list[i].ifr_name, "lo");
	printf("in the list %d\n", found);
	SAY(getifaddrs(&addresses));
	found = 0;
	for (struct ifaddrs *a = addresses; a; a = a->ifa_next)
		found += !strcmp(a->ifa_name, "lo") && a->ifa_addr && a->ifa_addr->sa_family == AF_INET;
	printf("addresses of lo %d\n", found);
	freeifaddrs(addresses);
	names = if_nameindex();
	MUST(names);
	printf("%s\n", names[0].if_name);
	if_freenameindex(names);
	SAY(if_indextoname(1, name) != NULL);
	SAY(if_indextoname(9999, name) != NULL);
	return 0;
}
