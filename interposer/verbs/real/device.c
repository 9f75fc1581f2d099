/* Devices, contexts and queries. */
#include <string.h>
#include "real.h"
#include "subject.h"

int real_devices(struct verbs_device *list, unsigned room)
{
	int n = 0;
	struct ibv_device **all = ibv_get_device_list(&n);
	if (!all)
		return errno == ENOSYS ? 0 : -errno; /* ENOSYS: no kernel support for RDMA, ibv_get_device_list(3) */
	if ((unsigned)n > room)
		n = (int)room;
	for (int i = 0; i < n; i++) {
		struct verbs_device *d = &list[i];
		memset(d, 0, sizeof(*d));
		memccpy(d->name, all[i]->name, 0, sizeof(d->name) - 1);
		memccpy(d->dev_name, all[i]->dev_name, 0, sizeof(d->dev_name) - 1);
		d->node_guid = ibv_get_device_guid(all[i]);
		d->node_type = all[i]->node_type;
		d->transport_type = all[i]->transport_type;
	}
	ibv_free_device_list(all);
	return n;
}

/* The program must not be able to close libibverbs's own descriptors. */
int real_hide_descriptor(int *fd)
{
	int hidden = real_above->keep_descriptor && *fd >= 0 ? real_above->keep_descriptor(*fd) : *fd;
	if (hidden < 0)
		return hidden;
	*fd = hidden;
	return 0;
}

int real_open(unsigned device, void **handle, int *async_fd, int *num_comp_vectors)
{
	int n = 0;
	struct ibv_device **all = ibv_get_device_list(&n);
	if (!all)
		return -errno;
	errno = 0;
	struct ibv_context *context = device < (unsigned)n ? ibv_open_device(all[device]) : NULL;
	int rc = device < (unsigned)n ? real_made(context, handle) : -ENODEV;
	ibv_free_device_list(all);
	if (!rc) {
		rc = real_hide_descriptor(&context->cmd_fd);
		if (!rc)
			rc = real_hide_descriptor(&context->async_fd);
		if (rc)
			ibv_close_device(context);
	}
	if (rc)
		return rc;
	*async_fd = context->async_fd;
	*num_comp_vectors = context->num_comp_vectors;
	return 0;
}

int real_close(void *context)
{
	return real_done(ibv_close_device(context));
}

int real_query_device(void *context, struct ibv_device_attr_ex *attr, size_t size)
{
	struct ibv_device_attr_ex whole;
	memset(&whole, 0, sizeof(whole));
	int rc = real_done(ibv_query_device_ex(context, NULL, &whole));
	whole.max_dm_size = 0;                                      /* it would not be memory of the process */
	whole.completion_timestamp_mask = whole.hca_core_clock = 0; /* completions are polled without their time */
	if (!rc)
		memcpy(attr, &whole, size < sizeof(whole) ? size : sizeof(whole));
	return rc;
}

int real_query_port(void *context, uint8_t port, struct ibv_port_attr *attr)
{
	return real_done(ibv_query_port(context, port, attr));
}

int real_query_gid(void *context, uint8_t port, int index, struct ibv_gid_entry *entry)
{
	errno = 0;
	return real_done(ibv_query_gid_ex(context, port, (uint32_t)index, entry, 0));
}

int real_query_pkey(void *context, uint8_t port, int index, __be16 *pkey)
{
	errno = 0;
	return real_done(ibv_query_pkey(context, port, index, pkey));
}

static void *subject(const struct ibv_async_event *event, int *port)
{
	switch (verbs_subject(event->event_type)) {
	case SUBJECT_CQ: return event->element.cq;
	case SUBJECT_QP: return event->element.qp;
	case SUBJECT_SRQ: return event->element.srq;
	case SUBJECT_WQ: return event->element.wq;
	case SUBJECT_PORT: break;
	}
	*port = event->element.port_num;
	return NULL;
}

int real_async_event(void *handle, int *type, void **object, int *port)
{
	struct ibv_context *context = handle;
	struct ibv_async_event event;
	if (!real_readable(context->async_fd))
		return -EAGAIN;
	if (ibv_get_async_event(context, &event))
		return -errno;
	*type = event.event_type;
	*object = subject(&event, port);
	/* Acknowledge at once: the upper half's libibverbs waits for the program's own acknowledgement. */
	ibv_ack_async_event(&event);
	return 0;
}
