/* rdma_getaddrinfo, and endpoints made from it. */
#include <netdb.h>
#include "cm.h"

static void free_one(struct rdma_addrinfo *a)
{
	free(a->ai_src_addr);
	free(a->ai_dst_addr);
	free(a->ai_src_canonname);
	free(a->ai_dst_canonname);
	free(a);
}

EXPORT void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	while (res) {
		struct rdma_addrinfo *next = res->ai_next;
		free_one(res);
		res = next;
	}
}

static struct rdma_addrinfo *made(const struct addrinfo *from, const struct rdma_addrinfo *hints)
{
	struct rdma_addrinfo *a = calloc(1, sizeof(*a));
	struct sockaddr *address = malloc(from->ai_addrlen);
	if (!a || !address) {
		free(a);
		free(address);
		return NULL;
	}
	memcpy(address, from->ai_addr, from->ai_addrlen);
	a->ai_flags = hints ? hints->ai_flags : 0;
	a->ai_family = from->ai_family;
	a->ai_qp_type = hints && hints->ai_qp_type ? hints->ai_qp_type : IBV_QPT_RC;
	if (hints && hints->ai_port_space)
		a->ai_port_space = hints->ai_port_space;
	else
		a->ai_port_space = a->ai_qp_type == IBV_QPT_UD ? RDMA_PS_UDP : RDMA_PS_TCP;
	if (!(hints && hints->ai_qp_type) && a->ai_port_space == RDMA_PS_UDP)
		a->ai_qp_type = IBV_QPT_UD;
	if (a->ai_flags & RAI_PASSIVE) {
		a->ai_src_addr = address;
		a->ai_src_len = from->ai_addrlen;
	} else {
		a->ai_dst_addr = address;
		a->ai_dst_len = from->ai_addrlen;
	}
	return a;
}

static int copied(struct sockaddr **to, socklen_t *len, const struct sockaddr *from, socklen_t from_len)
{
	*to = from_len ? malloc(from_len) : NULL;
	if (!*to)
		return from_len ? ENOMEM : 0;
	memcpy(*to, from, from_len);
	*len = from_len;
	return 0;
}

static int with_source(struct rdma_addrinfo *a, const struct rdma_addrinfo *hints)
{
	if (!hints || a->ai_src_len)
		return 0;
	return copied(&a->ai_src_addr, &a->ai_src_len, hints->ai_src_addr, hints->ai_src_len);
}

/* Without a node and a service, the hints have the addresses. */
static int from_hints(const struct rdma_addrinfo *hints, struct rdma_addrinfo **res)
{
	struct rdma_addrinfo *a = calloc(1, sizeof(*a));
	if (!a)
		return cm_fail(ENOMEM);
	a->ai_flags = hints->ai_flags;
	a->ai_family = hints->ai_family;
	a->ai_qp_type = hints->ai_qp_type;
	a->ai_port_space = hints->ai_port_space;
	int error = copied(&a->ai_dst_addr, &a->ai_dst_len, hints->ai_dst_addr, hints->ai_dst_len);
	error = error ? error : with_source(a, hints);
	if (error) {
		free_one(a);
		return cm_fail(error);
	}
	*res = a;
	return 0;
}

EXPORT int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
			    struct rdma_addrinfo **res)
{
	struct addrinfo ask = {.ai_socktype = SOCK_STREAM}, *found;
	struct rdma_addrinfo **end = res;
	int flags = hints ? hints->ai_flags : 0;
	*res = NULL;
	if (!node && !service)
		return hints ? from_hints(hints, res) : cm_fail(EINVAL);
	if (flags & RAI_PASSIVE)
		ask.ai_flags |= AI_PASSIVE;
	if (flags & RAI_NUMERICHOST)
		ask.ai_flags |= AI_NUMERICHOST;
	/* The device has IPv4 addresses only. */
	ask.ai_family = flags & RAI_FAMILY && hints->ai_family ? hints->ai_family : AF_INET;
	int rc = getaddrinfo(node, service, &ask, &found);
	if (rc)
		return rc;
	for (const struct addrinfo *f = found; f; f = f->ai_next) {
		*end = made(f, hints);
		if (!*end || with_source(*end, hints)) {
			rdma_freeaddrinfo(*res);
			freeaddrinfo(found);
			*res = NULL;
			return cm_fail(ENOMEM);
		}
		end = &(*end)->ai_next;
	}
	freeaddrinfo(found);
	return 0;
}

static int passive(struct rdma_cm_id *id, const struct rdma_addrinfo *res, struct ibv_pd *pd,
		   const struct ibv_qp_init_attr *attr)
{
	struct cm_id *c = cm_of(id);
	if (rdma_bind_addr(id, res->ai_src_addr))
		return -1;
	id->pd = pd;
	if (!attr)
		return 0;
	c->passive = malloc(sizeof(*attr));
	if (!c->passive)
		return cm_fail(ENOMEM);
	*c->passive = *attr;
	return 0;
}

static int active(struct rdma_cm_id *id, const struct rdma_addrinfo *res, struct ibv_pd *pd,
		  struct ibv_qp_init_attr *attr)
{
	if (rdma_resolve_addr(id, res->ai_src_addr, res->ai_dst_addr, 2000) || rdma_resolve_route(id, 2000))
		return -1;
	if (!attr)
		return 0;
	attr->qp_type = id->qp_type;
	return rdma_create_qp(id, pd, attr);
}

EXPORT int rdma_create_ep(struct rdma_cm_id **id, struct rdma_addrinfo *res, struct ibv_pd *pd,
			  struct ibv_qp_init_attr *attr)
{
	struct rdma_cm_id *made_id;
	if (rdma_create_id(NULL, &made_id, NULL, (enum rdma_port_space)res->ai_port_space))
		return -1;
	made_id->qp_type = (enum ibv_qp_type)res->ai_qp_type;
	int rc = res->ai_flags & RAI_PASSIVE ? passive(made_id, res, pd, attr) : active(made_id, res, pd, attr);
	if (rc) {
		int error = errno;
		rdma_destroy_ep(made_id);
		return cm_fail(error);
	}
	*id = made_id;
	return 0;
}

EXPORT void rdma_destroy_ep(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	if (id->srq)
		rdma_destroy_srq(id);
	rdma_destroy_id(id);
}

EXPORT int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id)
{
	struct cm_id *c = cm_of(listen);
	struct rdma_cm_event *event;
	if (!c->sync)
		return cm_fail(EINVAL);
	if (listen->event) {
		rdma_ack_cm_event(listen->event);
		listen->event = NULL;
	}
	if (rdma_get_cm_event(listen->channel, &event))
		return -1;
	if (event->status || event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		int error = event->status < 0 ? -event->status : EINVAL;
		rdma_ack_cm_event(event);
		return cm_fail(error);
	}
	struct rdma_cm_id *fresh = event->id;
	if (rdma_migrate_id(fresh, NULL) || (c->passive && ({
						     struct ibv_qp_init_attr attr = *c->passive;
						     attr.qp_type = listen->qp_type;
						     rdma_create_qp(fresh, listen->pd, &attr);
					     }))) {
		int error = errno;
		rdma_reject(fresh, NULL, 0);
		rdma_ack_cm_event(event);
		rdma_destroy_ep(fresh);
		return cm_fail(error);
	}
	fresh->event = event;
	*id = fresh;
	return 0;
}
