/* Completion channels and queues. */
#include "real.h"

int real_create_channel(void *context, void **handle, int *fd)
{
	errno = 0;
	struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
	int rc = real_made(channel, handle);
	if (rc)
		return rc;
	rc = real_hide_descriptor(&channel->fd);
	if (rc) {
		ibv_destroy_comp_channel(channel);
		return rc;
	}
	*fd = channel->fd;
	return 0;
}

int real_destroy_channel(void *channel)
{
	return real_done(ibv_destroy_comp_channel(channel));
}

int real_create_cq(void *context, int *cqe, void *channel, int vector, void **handle)
{
	errno = 0;
	struct ibv_cq *cq = ibv_create_cq(context, *cqe, NULL, channel, vector);
	int rc = real_made(cq, handle);
	if (!rc)
		*cqe = cq->cqe;
	return rc;
}

int real_resize_cq(void *handle, int *cqe)
{
	struct ibv_cq *cq = handle;
	errno = 0;
	int rc = real_done(ibv_resize_cq(cq, *cqe));
	if (!rc)
		*cqe = cq->cqe;
	return rc;
}

int real_destroy_cq(void *cq)
{
	return real_done(ibv_destroy_cq(cq));
}

int real_poll_cq(void *cq, int n, struct ibv_wc *wc)
{
	int got = ibv_poll_cq(cq, n, wc);
	return got < 0 ? -EIO : got;
}

int real_req_notify_cq(void *cq, int solicited_only)
{
	return real_done(ibv_req_notify_cq(cq, solicited_only));
}

int real_cq_event(void *handle, void **cq)
{
	struct ibv_comp_channel *channel = handle;
	struct ibv_cq *from;
	void *context;
	if (!real_readable(channel->fd))
		return -EAGAIN;
	if (ibv_get_cq_event(channel, &from, &context))
		return -errno;
	/* Acknowledge at once, as in real_async_event(); ibv_destroy_cq(3) would wait for it. */
	ibv_ack_cq_events(from, 1);
	*cq = from;
	return 0;
}
