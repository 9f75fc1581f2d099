/* Multicast groups: the GID of an IPv4 group is ::ffff:a.b.c.d, as with the kernel's connection manager on RoCE v2; an
 * IPv6 address is its own GID. */
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include "cm.h"

enum { MULTICAST_QP = 0xffffff };

struct membership {
	struct list link; /* in joined */
	struct cm_id *id;
	struct sockaddr_storage addr;
	union ibv_gid gid;
	struct ibv_qp *qp; /* attached queue pair; NULL: the program attaches its own */
	int fd;            /* socket by which the kernel joins the group, so that a device on this link receives it */
};

static struct list joined = {&joined, &joined};

static int group_of(const struct sockaddr *addr, union ibv_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	if (addr->sa_family == AF_INET6) {
		memcpy(gid->raw, &((const struct sockaddr_in6 *)addr)->sin6_addr, sizeof(gid->raw));
		return 0;
	}
	if (addr->sa_family != AF_INET)
		return EAFNOSUPPORT;
	memset(gid->raw + 10, 0xff, 2);
	memcpy(gid->raw + 12, &((const struct sockaddr_in *)addr)->sin_addr, 4);
	return 0;
}

/* The kernel's membership: ip(7), IP_ADD_MEMBERSHIP. */
static int join_kernel(struct membership *m)
{
	const struct sockaddr_in *group = (const struct sockaddr_in *)&m->addr;
	const struct sockaddr_in *own = (const struct sockaddr_in *)&m->id->id.route.addr.src_storage;
	if (group->sin_family != AF_INET)
		return 0;
	struct ip_mreq asked = {.imr_multiaddr = group->sin_addr};
	if (own->sin_family == AF_INET)
		asked.imr_interface = own->sin_addr;
	m->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (m->fd < 0 || setsockopt(m->fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &asked, sizeof(asked)))
		return errno;
	return 0;
}

static void forget(struct membership *m)
{
	list_remove(&m->link);
	if (m->fd >= 0)
		close(m->fd);
	free(m);
}

static int say_joined(const struct membership *m, void *context)
{
	struct cm_id *c = m->id;
	struct cm_event *e = cm_event_new(c, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	if (!e)
		return ENOMEM;
	struct rdma_ud_param *p = &e->event.param.ud;
	p->private_data = context;
	p->qp_num = MULTICAST_QP;
	p->qkey = c->qkey ? c->qkey : RDMA_UDP_QKEY;
	p->ah_attr.is_global = 1;
	p->ah_attr.port_num = c->id.port_num;
	p->ah_attr.grh.dgid = m->gid;
	p->ah_attr.grh.sgid_index = (uint8_t)c->sgid_index;
	p->ah_attr.grh.hop_limit = 1;
	cm_event_put(c->channel, e);
	return 0;
}

static int join(struct cm_id *c, const struct sockaddr *addr, void *context)
{
	struct membership *m = calloc(1, sizeof(*m));
	if (!m)
		return ENOMEM;
	m->id = c;
	m->fd = -1;
	memcpy(&m->addr, addr, cm_address_len(addr));
	list_append(&joined, &m->link);
	int error = group_of(addr, &m->gid);
	if (!error && c->id.qp)
		error = ibv_attach_mcast(c->id.qp, &m->gid, 0);
	if (!error) {
		m->qp = c->id.qp;
		error = join_kernel(m);
	}
	if (!error)
		error = say_joined(m, context);
	if (error && m->qp)
		ibv_detach_mcast(m->qp, &m->gid, 0);
	if (error)
		forget(m);
	return error;
}

EXPORT int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
	struct cm_id *c = cm_of(id);
	if (!addr || !c->device || !cm_address_len(addr))
		return cm_fail(EINVAL);
	pthread_mutex_lock(&cm_lock);
	int error = join(c, addr, context);
	pthread_mutex_unlock(&cm_lock);
	return error ? cm_fail(error) : cm_complete(c);
}

EXPORT int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr, void *context)
{
	const uint32_t known = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
	if (!attr || attr->comp_mask & ~known || !(attr->comp_mask & RDMA_CM_JOIN_MC_ATTR_ADDRESS))
		return cm_fail(ENOTSUP);
	return rdma_join_multicast(id, attr->addr, context);
}

EXPORT int rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr)
{
	int error = EADDRNOTAVAIL;
	pthread_mutex_lock(&cm_lock);
	list_each(struct membership, m, &joined, link) {
		if (m->id != cm_of(id) || memcmp(&m->addr, addr, cm_address_len(addr)))
			continue;
		error = m->qp ? ibv_detach_mcast(m->qp, &m->gid, 0) : 0;
		forget(m);
		break;
	}
	pthread_mutex_unlock(&cm_lock);
	return error ? cm_fail(error) : 0;
}

void cm_multicast_forget(const struct cm_id *c)
{
	list_each(struct membership, m, &joined, link) {
		if (m->id == c)
			forget(m);
	}
}
