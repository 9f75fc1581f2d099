/* The HCA as a whole: start, stop, its slot on the host. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "conn.h"
#include "mcast.h"
#include "progress.h"

static int base_port(void)
{
	const char *text = getenv("RDB_HCA_PORT");
	char *end;
	if (!text || !*text)
		return HCA_PORT_BASE;
	long port = strtol(text, &end, 10);
	if (*end || port < 1024 || port > 65535 - HCA_SLOTS) {
		hca_warn("software HCA: RDB_HCA_PORT is %s; use a port from 1024 to %d", text, 65535 - HCA_SLOTS);
		return -EINVAL;
	}
	return (int)port;
}

/* 0: no LID was asked for */
static int port_lid(void)
{
	enum { LAST_UNICAST = 0xbfff };
	const char *text = getenv("RDB_HCA_LID");
	char *end;
	if (!text || !*text)
		return 0;
	long lid = strtol(text, &end, 0);
	if (*end || lid < 1 || lid > LAST_UNICAST) {
		hca_warn("software HCA: RDB_HCA_LID is %s; use a LID from 1 to %d", text, LAST_UNICAST);
		return -EINVAL;
	}
	return (int)lid;
}

static int listen_at(uint16_t port)
{
	int one = 1;
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_ANY)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, SOMAXCONN)) {
		int rc = -errno;
		close(fd);
		return rc;
	}
	return hca_keep(fd);
}

/* The first free port becomes this process's slot on its host. */
static int take_slot(void)
{
	int rc = -EADDRINUSE;
	for (hca.slot = 0; hca.slot < HCA_SLOTS && rc == -EADDRINUSE; hca.slot++) {
		rc = listen_at((uint16_t)(hca.base + hca.slot));
		if (rc >= 0)
			break;
	}
	if (rc >= 0)
		hca.listener = rc;
	return rc < 0 ? rc : 0;
}

static int start(void)
{
	int rc = hca_auth_read_key(hca.above->key_file, hca.key);
	if (rc)
		return rc;
	rc = base_port();
	if (rc < 0)
		return rc;
	hca.base = (uint16_t)rc;
	hca_gids_read();
	randombytes_buf(&hca.instance, sizeof(hca.instance));
	hca.next_qp = 2 + randombytes_uniform(HCA_QPS - 2);
	hca.epoll = hca_keep(epoll_create1(EPOLL_CLOEXEC));
	if (hca.epoll < 0)
		return hca.epoll;
	rc = take_slot();
	if (!rc)
		rc = hca_watch(hca.listener, NULL, true, false);
	return rc ? rc : hca_thread_start();
}

static void close_ours(void)
{
	if (hca.listener >= 0)
		close(hca.listener);
	if (hca.epoll >= 0)
		close(hca.epoll);
	hca.listener = hca.epoll = -1;
	sodium_memzero(hca.key, sizeof(hca.key));
}

static void hca_stop(void)
{
	if (hca.epoll < 0)
		return;
	hca_progress_output();
	hca_mcast_stop();
	hca_conns_stop();
	hca_thread_stop();
	close_ours();
}

static int hca_start(const struct verbs_above *above)
{
	if (hca.epoll >= 0)
		return -EALREADY;
	hca.above = above;
	hca.ngids = 0;
	list_init(&hca.conns);
	list_init(&hca.timers);
	list_init(&hca.contexts);
	list_init(&hca.touched); /* after a fork it holds connections of the parent */
	memset(hca.qps, 0, sizeof(hca.qps));
	hca.nqps = hca.nconns = hca.nstrangers = 0;
	int rc = port_lid();
	hca.lid = rc > 0 ? (uint16_t)rc : 0;
	if (rc >= 0)
		rc = start();
	if (rc) {
		hca_thread_stop();
		close_ours();
	}
	return rc;
}

/* The sockets belong to the parent; peers do not notice that the child closes its copies. */
static void hca_in_child(void)
{
	if (hca.epoll < 0)
		return;
	list_each(struct hca_conn, c, &hca.conns, link) {
		if (c->fd >= 0)
			close(c->fd);
	}
	list_each(struct hca_context, c, &hca.contexts, link)
		close(c->async_fd);
	hca_thread_forget();
	hca_mcast_forget();
	close_ours();
}

/* No device writes to registered memory, the process itself does; so fork needs no care. */
static int fork_status(bool init)
{
	return IBV_FORK_UNNEEDED;
}

const struct verbs_provider *verbs_soft(void)
{
	static const struct verbs_provider soft = {
		.name = "soft",
		.start = hca_start,
		.stop = hca_stop,
		.in_child = hca_in_child,
		.devices = hca_devices,
		.open = hca_open,
		.close = hca_close,
		.query_device = hca_query_device,
		.query_port = hca_query_port,
		.query_gid = hca_query_gid,
		.query_pkey = hca_query_pkey,
		.async_event = hca_async_event,
		.alloc_pd = hca_alloc_pd,
		.dealloc_pd = hca_dealloc_pd,
		.reg_mr = hca_reg_mr,
		.rereg_mr = hca_rereg_mr,
		.dereg_mr = hca_dereg_mr,
		.advise_mr = hca_advise_mr,
		.alloc_mw = hca_alloc_mw,
		.dealloc_mw = hca_dealloc_mw,
		.bind_mw = hca_bind_mw,
		.create_channel = hca_create_channel,
		.destroy_channel = hca_destroy_channel,
		.create_cq = hca_create_cq,
		.resize_cq = hca_resize_cq,
		.destroy_cq = hca_destroy_cq,
		.poll_cq = hca_poll_cq,
		.completed_at = hca_completed_at,
		.req_notify_cq = hca_req_notify_cq,
		.cq_event = hca_cq_event,
		.create_srq = hca_create_srq,
		.modify_srq = hca_modify_srq,
		.query_srq = hca_query_srq,
		.destroy_srq = hca_destroy_srq,
		.post_srq_recv = hca_post_srq_recv,
		.create_qp = hca_create_qp,
		.modify_qp = hca_modify_qp,
		.query_qp = hca_query_qp,
		.destroy_qp = hca_destroy_qp,
		.post_send = hca_post_send,
		.post_recv = hca_post_recv,
		.create_ah = hca_create_ah,
		.destroy_ah = hca_destroy_ah,
		.attach_mcast = hca_attach_mcast,
		.detach_mcast = hca_detach_mcast,
		.fork_status = fork_status,
		.restore_cq = hca_restore_cq,
		.restore_event = hca_restore_event,
		.files = hca_files,
		.progress = hca_progress,
	};
	return &soft;
}
