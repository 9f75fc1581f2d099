/* Devices, and finding the device of an address. */
#include <arpa/inet.h>
#include "cm.h"

static struct {
	struct cm_device *all;
	int n;
	bool known;
} devices;

static void open_all(void)
{
	int n = 0;
	if (devices.known)
		return;
	devices.known = true;
	struct ibv_device **list = ibv_get_device_list(&n);
	devices.all = list && n ? calloc((size_t)n, sizeof(*devices.all)) : NULL;
	for (int i = 0; devices.all && i < n; i++) {
		struct ibv_device_attr attr;
		struct cm_device *d = &devices.all[devices.n];
		d->verbs = ibv_open_device(list[i]);
		if (!d->verbs)
			continue;
		if (!ibv_query_device(d->verbs, &attr)) {
			d->max_reads = attr.max_qp_init_rd_atom < 255 ? (uint8_t)attr.max_qp_init_rd_atom : 255;
			d->max_reads_for_peers = attr.max_qp_rd_atom < 255 ? (uint8_t)attr.max_qp_rd_atom : 255;
		}
		devices.n++;
	}
	if (list)
		ibv_free_device_list(list);
}

static void gid_of(const struct sockaddr *a, union ibv_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	if (a->sa_family == AF_INET6) {
		memcpy(gid, &((const struct sockaddr_in6 *)a)->sin6_addr, sizeof(*gid));
		return;
	}
	memset(gid->raw + 10, 0xff, 2);
	memcpy(gid->raw + 12, &((const struct sockaddr_in *)a)->sin_addr, 4);
}

static bool is_mapped(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	return !memcmp(gid->raw, mapped, sizeof(mapped));
}

static bool is_loopback(const struct sockaddr *a)
{
	static const struct in6_addr loopback = IN6ADDR_LOOPBACK_INIT;
	return a->sa_family == AF_INET
		       ? ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24 == 127
		       : !memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr, &loopback, sizeof(loopback));
}

static void use(struct cm_id *c, struct cm_device *d, uint8_t port, int index, const union ibv_gid *gid)
{
	c->device = d;
	c->id.verbs = d->verbs;
	c->id.port_num = port;
	c->sgid_index = (unsigned)index;
	c->sgid = *gid;
	c->id.route.addr.addr.ibaddr.sgid = *gid;
	c->id.route.addr.addr.ibaddr.pkey = htons(0xffff);
}

/* The port that has exactly this GID.  any: for the loopback address, which no hardware has: any IPv4 GID. */
static bool find(struct cm_id *c, const union ibv_gid *want, bool any)
{
	for (int i = 0; i < devices.n; i++) {
		struct ibv_device_attr attr;
		struct cm_device *d = &devices.all[i];
		if (ibv_query_device(d->verbs, &attr))
			continue;
		for (uint8_t port = 1; port <= attr.phys_port_cnt; port++) {
			struct ibv_port_attr p;
			if (ibv_query_port(d->verbs, port, &p) || p.state != IBV_PORT_ACTIVE)
				continue;
			for (int g = 0; g < p.gid_tbl_len; g++) {
				struct ibv_gid_entry e;
				if (ibv_query_gid_ex(d->verbs, port, (uint32_t)g, &e, 0) ||
				    e.gid_type == IBV_GID_TYPE_ROCE_V1)
					continue;
				if (any ? !is_mapped(&e.gid) : memcmp(&e.gid, want, sizeof(*want)))
					continue;
				use(c, d, port, g, &e.gid);
				return true;
			}
		}
	}
	return false;
}

/* The domain of the ids that get none of the program. */
static int domain(struct cm_id *c)
{
	if (!c->device->pd)
		c->device->pd = ibv_alloc_pd(c->device->verbs);
	c->id.pd = c->device->pd;
	return c->id.pd ? 0 : errno;
}

int cm_device_for(struct cm_id *c, const struct sockaddr *local)
{
	union ibv_gid want;
	pthread_mutex_lock(&cm_lock);
	open_all();
	gid_of(local, &want);
	bool found = find(c, &want, false) || (is_loopback(local) && find(c, &want, true));
	const int error = found ? domain(c) : ENODEV;
	pthread_mutex_unlock(&cm_lock);
	return error;
}

EXPORT struct ibv_context **rdma_get_devices(int *num_devices)
{
	pthread_mutex_lock(&cm_lock);
	open_all();
	struct ibv_context **list = calloc((size_t)devices.n + 1, sizeof(struct ibv_context *));
	for (int i = 0; list && i < devices.n; i++)
		list[i] = devices.all[i].verbs;
	pthread_mutex_unlock(&cm_lock);
	if (num_devices)
		*num_devices = list ? devices.n : 0;
	return list;
}

EXPORT void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}
