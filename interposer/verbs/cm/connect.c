/* Connecting, accepting, rejecting, disconnecting. */
#include <sys/epoll.h>
#include <sys/socket.h>
#include "cm.h"

enum { REJECTED_BY_CONSUMER = 28 }; /* the CM's reason */

static uint8_t least(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

/* Keeps the parameters, limited to what the device can do. */
static int keep_own(struct cm_id *c, const struct rdma_conn_param *p)
{
	if (p)
		c->own = *p;
	else
		c->own = (struct rdma_conn_param){.responder_resources = RDMA_MAX_RESP_RES,
						  .initiator_depth = RDMA_MAX_INIT_DEPTH,
						  .retry_count = 7,
						  .rnr_retry_count = 7};
	if (c->own.private_data && c->own.private_data_len) {
		memcpy(c->own_private, c->own.private_data, c->own.private_data_len);
		c->own.private_data = c->own_private;
	}
	c->own.responder_resources = least(c->own.responder_resources, c->device->max_reads_for_peers);
	c->own.initiator_depth = least(c->own.initiator_depth, c->device->max_reads);
	if (c->id.qp_type == IBV_QPT_UD && !c->qkey)
		c->qkey = RDMA_UDP_QKEY;
	return 0;
}

EXPORT int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	struct cm_id *c = cm_of(id);
	int rc;
	if (c->state != CM_ROUTE)
		return cm_fail(EINVAL);
	pthread_mutex_lock(&cm_lock);
	keep_own(c, param);
	c->pauses = 0;
	rc = cm_connect(c);
	pthread_mutex_unlock(&cm_lock);
	return rc ? rc : cm_complete(c);
}

EXPORT int rdma_establish(struct rdma_cm_id *id)
{
	struct cm_id *c = cm_of(id);
	if (id->qp || c->state != CM_ANSWERED)
		return cm_fail(EINVAL);
	pthread_mutex_lock(&cm_lock);
	int rc = cm_send(c, CM_READY, NULL, 0);
	if (!rc)
		c->state = CM_CONNECTED;
	pthread_mutex_unlock(&cm_lock);
	return rc;
}

static int accept_connection(struct cm_id *c, struct rdma_conn_param *p)
{
	struct rdma_conn_param as_asked = {.responder_resources = c->peer.initiator_depth,
					   .initiator_depth = c->peer.responder_resources,
					   .flow_control = c->peer.flow_control,
					   .rnr_retry_count = c->peer.rnr_retry_count};
	keep_own(c, p ? p : &as_asked);
	c->own.retry_count = c->peer.retry_count;
	if (c->id.qp && c->id.qp_type == IBV_QPT_RC && (cm_qp_to_rtr(c) || cm_qp_to_rts(c)))
		return -1;
	/* The peer may send as soon as it has the reply, so the queue pair must be ready before. */
	if (cm_send(c, CM_REPLY, &c->own, 0))
		return -1;
	c->state = c->id.qp_type == IBV_QPT_UD ? CM_CONNECTED : CM_ACCEPTED;
	return 0;
}

EXPORT int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	struct cm_id *c = cm_of(id);
	if (c->state != CM_WANTED)
		return cm_fail(EINVAL);
	pthread_mutex_lock(&cm_lock);
	int rc = accept_connection(c, param);
	pthread_mutex_unlock(&cm_lock);
	return rc || c->state == CM_CONNECTED ? rc : cm_complete(c);
}

EXPORT int rdma_reject(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)
{
	struct cm_id *c = cm_of(id);
	struct rdma_conn_param p = {.private_data = private_data, .private_data_len = private_data_len};
	if (c->state != CM_WANTED && c->state != CM_ANSWERED)
		return cm_fail(EINVAL);
	pthread_mutex_lock(&cm_lock);
	int rc = cm_send(c, CM_REJECT, &p, REJECTED_BY_CONSUMER);
	cm_watch(c, EPOLL_CTL_DEL, 0);
	c->state = CM_OVER;
	pthread_mutex_unlock(&cm_lock);
	return rc;
}

EXPORT int rdma_reject_ece(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)
{
	return rdma_reject(id, private_data, private_data_len);
}

EXPORT int rdma_disconnect(struct rdma_cm_id *id)
{
	struct cm_id *c = cm_of(id);
	bool told = false;
	if (c->state < CM_WANTED)
		return cm_fail(EINVAL);
	pthread_mutex_lock(&cm_lock);
	cm_qp_to_error(c);
	if (c->state == CM_CONNECTED || c->state == CM_ACCEPTED) {
		/* If this fails, the peer has closed its socket, which leads to the same event. */
		cm_send(c, CM_DISCONNECT, NULL, 0);
		c->state = CM_LEAVING;
		told = true;
	}
	pthread_mutex_unlock(&cm_lock);
	return told ? cm_complete(c) : 0;
}

EXPORT int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	(void)id;
	(void)event;
	return 0; /* IBV_EVENT_COMM_EST: CM_READY arrives through the socket as well */
}

/* The sizes of the values: rdma_set_option(3).  What a route is has no meaning here, nor has the type of service. */
static size_t option_size(int level, int name)
{
	if (level == RDMA_OPTION_IB)
		return name == RDMA_OPTION_IB_PATH ? sizeof(struct ibv_path_data) : 0;
	switch (level == RDMA_OPTION_ID ? name : -1) {
	case RDMA_OPTION_ID_TOS:
	case RDMA_OPTION_ID_ACK_TIMEOUT: return sizeof(uint8_t);
	case RDMA_OPTION_ID_REUSEADDR:
	case RDMA_OPTION_ID_AFONLY: return sizeof(int);
	default: return 0;
	}
}

EXPORT int rdma_set_option(struct rdma_cm_id *id, int level, int optname, void *optval, size_t optlen)
{
	struct cm_id *c = cm_of(id);
	const size_t size = option_size(level, optname);
	if (!size)
		return cm_fail(ENOSYS);
	if (level == RDMA_OPTION_IB ? !optlen || optlen % size : optlen != size)
		return cm_fail(EINVAL);
	if (level == RDMA_OPTION_ID && optname == RDMA_OPTION_ID_ACK_TIMEOUT) {
		if (id->qp_type != IBV_QPT_RC)
			return cm_fail(EINVAL);
		c->has_timeout = true;
		memcpy(&c->ack_timeout, optval, sizeof(c->ack_timeout));
	}
	return 0;
}

EXPORT int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	(void)id;
	(void)ece;
	return cm_fail(EOPNOTSUPP);
}

EXPORT int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	(void)id;
	*ece = (struct ibv_ece){0};
	return 0;
}
