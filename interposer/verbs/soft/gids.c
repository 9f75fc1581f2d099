/* GIDs: ::ffff:a.b.c.d for each IPv4 address of the host, the loopback's last.  There are always at least two, because
 * programs are often told to use GID index 1. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>
#include "hca.h"

static void add(uint32_t ip, unsigned ifindex)
{
	if (hca.ngids == HCA_GIDS)
		return;
	struct hca_gid *g = &hca.gids[hca.ngids++];
	*g = (struct hca_gid){.ip = ip, .ifindex = ifindex};
	memset(g->gid.raw + 10, 0xff, 2);
	memcpy(g->gid.raw + 12, &ip, 4);
}

void hca_gids_read(void)
{
	struct ifaddrs *all, *a;
	if (hca.ngids)
		return;
	if (!getifaddrs(&all)) {
		for (a = all; a; a = a->ifa_next)
			if (a->ifa_addr && a->ifa_addr->sa_family == AF_INET && (a->ifa_flags & IFF_UP) &&
			    !(a->ifa_flags & IFF_LOOPBACK) && hca.ngids < HCA_GIDS - 2)
				add(((struct sockaddr_in *)a->ifa_addr)->sin_addr.s_addr, if_nametoindex(a->ifa_name));
		freeifaddrs(all);
	}
	add(htonl(INADDR_LOOPBACK), if_nametoindex("lo"));
	if (hca.ngids < 2)
		add(htonl(INADDR_LOOPBACK + 1), if_nametoindex("lo"));
}

bool hca_address_is_local(uint32_t ip)
{
	if ((ntohl(ip) >> 24) == 127)
		return true;
	for (unsigned i = 0; i < hca.ngids; i++)
		if (hca.gids[i].ip == ip)
			return true;
	return false;
}

bool hca_gid_address(const struct ibv_ah_attr *attr, uint32_t *ip)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	*ip = htonl(INADDR_LOOPBACK);
	if (!attr->is_global)
		return !hca.lid || attr->dlid == hca.lid; /* there is no other LID on the fabric */
	if (memcmp(attr->grh.dgid.raw, mapped, sizeof(mapped)))
		return false;
	memcpy(ip, attr->grh.dgid.raw + 12, 4);
	/* one connection to this host for all of its addresses */
	if (hca_address_is_local(*ip))
		*ip = htonl(INADDR_LOOPBACK);
	return true;
}

uint64_t hca_node_guid(void)
{
	uint8_t guid[8] = {0x02, 'r', 'd', 'b'};
	uint64_t value;
	memcpy(guid + 4, &hca.gids[0].ip, 4);
	memcpy(&value, guid, 8);
	return value;
}
