/* The table of calls, and helpers that they share. */
#include <poll.h>
#include <stddef.h>
#include "real.h"

const struct verbs_above *real_above;

int real_made(void *object, void **handle)
{
	if (!object)
		return errno ? -errno : -EIO;
	*handle = object;
	return 0;
}

int real_done(int rc)
{
	if (rc == -1)
		return errno ? -errno : -EIO;
	return rc > 0 ? -rc : rc;
}

bool real_readable(int fd)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};
	return poll(&one, 1, 0) == 1;
}

static int start(const struct verbs_above *above)
{
	real_above = above;
	return 0;
}

static void stop(void) {}

/* Nothing to do: the plug-in forgets the parent's handles, and the child opens contexts of its own. */
static void in_child(void) {}

/* As the system's libibverbs finds out: kernels from 5.12 on copy pinned pages at fork(2); on older ones libibverbs
 * must hide them from children. */
static int fork_status(bool init)
{
	int failed = init ? ibv_fork_init() : 0;
	return failed ? -failed : (int)ibv_is_fork_initialized();
}

/* The device moves bytes by itself. */
static int progress(void)
{
	return 0;
}

extern const struct verbs_provider rdb_verbs_real;
__attribute__((visibility("default"))) const struct verbs_provider rdb_verbs_real = {
	.name = "real",
	.by_itself = true,
	.start = start,
	.stop = stop,
	.in_child = in_child,
	.devices = real_devices,
	.open = real_open,
	.close = real_close,
	.query_device = real_query_device,
	.query_port = real_query_port,
	.query_gid = real_query_gid,
	.query_pkey = real_query_pkey,
	.async_event = real_async_event,
	.alloc_pd = real_alloc_pd,
	.dealloc_pd = real_dealloc_pd,
	.reg_mr = real_reg_mr,
	.rereg_mr = real_rereg_mr,
	.dereg_mr = real_dereg_mr,
	.alloc_mw = real_alloc_mw,
	.dealloc_mw = real_dealloc_mw,
	.bind_mw = real_bind_mw,
	.create_channel = real_create_channel,
	.destroy_channel = real_destroy_channel,
	.create_cq = real_create_cq,
	.resize_cq = real_resize_cq,
	.destroy_cq = real_destroy_cq,
	.poll_cq = real_poll_cq,
	.req_notify_cq = real_req_notify_cq,
	.cq_event = real_cq_event,
	.create_srq = real_create_srq,
	.modify_srq = real_modify_srq,
	.query_srq = real_query_srq,
	.destroy_srq = real_destroy_srq,
	.post_srq_recv = real_post_srq_recv,
	.create_qp = real_create_qp,
	.modify_qp = real_modify_qp,
	.query_qp = real_query_qp,
	.destroy_qp = real_destroy_qp,
	.post_send = real_post_send,
	.post_recv = real_post_recv,
	.create_ah = real_create_ah,
	.destroy_ah = real_destroy_ah,
	.attach_mcast = real_attach_mcast,
	.detach_mcast = real_detach_mcast,
	.fork_status = fork_status,
	.progress = progress,
};
