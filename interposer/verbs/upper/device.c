/* Devices and contexts. */
#include <stdio.h>
#include <unistd.h>
#include "provider.h"
#include "upper.h"

enum { DEVICES = 64 };

/* Freed with the last list or context that uses it. */
struct device {
	struct ibv_device device;
	uint64_t guid;
	unsigned index, users;
};

static struct device *made(const struct verbs_device *from, unsigned index)
{
	struct device *d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->device.node_type = from->node_type;
	d->device.transport_type = from->transport_type;
	snprintf(d->device.name, sizeof(d->device.name), "%.63s", from->name);
	snprintf(d->device.dev_name, sizeof(d->device.dev_name), "%.63s", from->dev_name);
	snprintf(d->device.dev_path, sizeof(d->device.dev_path), "/sys/class/infiniband_verbs/%.63s", from->dev_name);
	snprintf(d->device.ibdev_path, sizeof(d->device.ibdev_path), "/sys/class/infiniband/%.63s", from->name);
	d->guid = from->node_guid;
	d->index = index;
	d->users = 1;
	return d;
}

static void drop(struct ibv_device *device)
{
	struct device *d = CONTAINER(device, struct device, device);
	if (__atomic_sub_fetch(&d->users, 1, __ATOMIC_ACQ_REL) == 0)
		free(d);
}

EXPORT void ibv_free_device_list(struct ibv_device **list)
{
	for (unsigned i = 0; list[i]; i++)
		drop(list[i]);
	free(list);
}

EXPORT struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct verbs_device found[DEVICES];
	int64_t n = ASK(VERBS_DEVICES, P(found), DEVICES);
	if (num_devices)
		*num_devices = 0;
	if (failed(n))
		return NULL;
	struct ibv_device **list = calloc((size_t)n + 1, sizeof(struct ibv_device *));
	for (int64_t i = 0; list && i < n; i++) {
		struct device *d = made(&found[i], (unsigned)i);
		if (!d) {
			ibv_free_device_list(list);
			list = NULL;
			break;
		}
		list[i] = &d->device;
	}
	if (!list)
		errno = ENOMEM;
	else if (num_devices)
		*num_devices = (int)n;
	return list;
}

EXPORT const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

EXPORT __be64 ibv_get_device_guid(struct ibv_device *device)
{
	return CONTAINER(device, struct device, device)->guid;
}

EXPORT int ibv_get_device_index(struct ibv_device *device)
{
	return (int)CONTAINER(device, struct device, device)->index;
}

EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct device *d = CONTAINER(device, struct device, device);
	struct context *c = calloc(1, sizeof(*c));
	struct verbs_opened opened = {-1, 0, 0, 0};
	if (!c)
		return NULL;
	int64_t id = ASK(VERBS_OPEN, d->index, P(&c->verbs.context), P(&opened));
	if (id < 0)
		return not_made(c, id);
	c->id = (uint32_t)id;
	c->memory_left = opened.device_memory;
	c->has_memory = opened.device_memory;
	c->has_clock = opened.clock_khz;
	__atomic_add_fetch(&d->users, 1, __ATOMIC_ACQ_REL);
	struct ibv_context *context = &c->verbs.context;
	context->device = device;
	context->cmd_fd = context->async_fd = opened.async_fd;
	context->num_comp_vectors = opened.comp_vectors;
	pthread_mutex_init(&context->mutex, NULL);
	context->abi_compat = __VERBS_ABI_IS_EXTENDED;
	context->ops.alloc_mw = ops_alloc_mw;
	context->ops.bind_mw = ops_bind_mw;
	context->ops.dealloc_mw = ops_dealloc_mw;
	context->ops.poll_cq = ops_poll_cq;
	context->ops.req_notify_cq = ops_req_notify_cq;
	context->ops.post_srq_recv = ops_post_srq_recv;
	context->ops.post_send = ops_post_send;
	context->ops.post_recv = ops_post_recv;
	c->verbs.sz = sizeof(c->verbs);
	c->verbs.query_port = ops_query_port;
	c->verbs.query_device_ex = ops_query_device_ex;
	c->verbs.create_cq_ex = ops_create_cq_ex;
	c->verbs.query_rt_values = ops_query_rt_values;
	c->verbs.create_qp_ex = ops_create_qp_ex;
	c->verbs.alloc_parent_domain = ops_alloc_parent_domain;
	c->verbs.advise_mr = ops_advise_mr;
	c->verbs.alloc_td = ops_alloc_td;
	c->verbs.dealloc_td = ops_dealloc_td;
	c->verbs.alloc_dm = ops_alloc_dm;
	c->verbs.free_dm = ops_free_dm;
	c->verbs.reg_dm_mr = ops_reg_dm_mr;
	return context;
}

EXPORT int ibv_close_device(struct ibv_context *context)
{
	struct context *c = context_of(context);
	int rc = failed(ASK(VERBS_CLOSE, c->id));
	if (rc)
		return rc;
	drop(context->device);
	free(c);
	return 0;
}

EXPORT struct ibv_context *ibv_import_device(int cmd_fd)
{
	(void)cmd_fd;
	errno = EOPNOTSUPP;
	return NULL;
}
