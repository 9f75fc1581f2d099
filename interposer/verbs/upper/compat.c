/* Functions that librdmacm and programs use beside the objects: sysfs, fork, structs of the kernel. */
#include <fcntl.h>
#include <infiniband/sa.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>
#include <stdio.h>
#include <unistd.h>
#include "upper.h"

EXPORT const char *ibv_get_sysfs_path(void);
EXPORT const char *ibv_get_sysfs_path(void)
{
	return "/sys";
}

EXPORT int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);
EXPORT int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
	char path[512];
	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
		return -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size);
	if (fd >= 0)
		close(fd);
	if (n > 0 && buf[n - 1] == '\n')
		buf[--n] = 0;
	else if (n >= 0 && (size_t)n < size)
		buf[n] = 0;
	return n < 0 ? -1 : (int)n;
}

/* The software HCA and Linux from 5.12 on need no preparation for fork. */
EXPORT int ibv_fork_init(void)
{
	int64_t r = ASK(VERBS_FORK, 1);
	return r < 0 ? (int)-r : 0;
}

EXPORT enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return (enum ibv_fork_status)ASK(VERBS_FORK, 0);
}

EXPORT int ibv_dontfork_range(void *base, size_t size);
EXPORT int ibv_dontfork_range(void *base, size_t size)
{
	(void)base, (void)size;
	return 0;
}

EXPORT int ibv_dofork_range(void *base, size_t size);
EXPORT int ibv_dofork_range(void *base, size_t size)
{
	(void)base, (void)size;
	return 0;
}

/* ---- structs of the kernel's interface (rdma/ib_user_verbs.h, rdma/ib_user_sa.h) ---- */

EXPORT void ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *to, struct ib_uverbs_ah_attr *from);
EXPORT void ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *to, struct ib_uverbs_ah_attr *from)
{
	memcpy(to->grh.dgid.raw, from->grh.dgid, sizeof(to->grh.dgid.raw));
	to->grh.flow_label = from->grh.flow_label;
	to->grh.sgid_index = from->grh.sgid_index;
	to->grh.hop_limit = from->grh.hop_limit;
	to->grh.traffic_class = from->grh.traffic_class;
	to->dlid = from->dlid;
	to->sl = from->sl;
	to->src_path_bits = from->src_path_bits;
	to->static_rate = from->static_rate;
	to->is_global = from->is_global;
	to->port_num = from->port_num;
}

EXPORT void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *to, struct ib_uverbs_qp_attr *from);
EXPORT void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *to, struct ib_uverbs_qp_attr *from)
{
	to->qp_state = from->qp_state;
	to->cur_qp_state = from->cur_qp_state;
	to->path_mtu = from->path_mtu;
	to->path_mig_state = from->path_mig_state;
	to->qkey = from->qkey;
	to->rq_psn = from->rq_psn;
	to->sq_psn = from->sq_psn;
	to->dest_qp_num = from->dest_qp_num;
	to->qp_access_flags = from->qp_access_flags;
	to->cap.max_send_wr = from->max_send_wr;
	to->cap.max_recv_wr = from->max_recv_wr;
	to->cap.max_send_sge = from->max_send_sge;
	to->cap.max_recv_sge = from->max_recv_sge;
	to->cap.max_inline_data = from->max_inline_data;
	ibv_copy_ah_attr_from_kern(&to->ah_attr, &from->ah_attr);
	ibv_copy_ah_attr_from_kern(&to->alt_ah_attr, &from->alt_ah_attr);
	to->pkey_index = from->pkey_index;
	to->alt_pkey_index = from->alt_pkey_index;
	to->en_sqd_async_notify = from->en_sqd_async_notify;
	to->sq_draining = from->sq_draining;
	to->max_rd_atomic = from->max_rd_atomic;
	to->max_dest_rd_atomic = from->max_dest_rd_atomic;
	to->min_rnr_timer = from->min_rnr_timer;
	to->port_num = from->port_num;
	to->timeout = from->timeout;
	to->retry_cnt = from->retry_cnt;
	to->rnr_retry = from->rnr_retry;
	to->alt_port_num = from->alt_port_num;
	to->alt_timeout = from->alt_timeout;
}

/* The fields have the same names in both structs. */
#define PATH_FIELDS(to, from) \
	((to)->dlid = (from)->dlid, (to)->slid = (from)->slid, (to)->raw_traffic = (from)->raw_traffic, \
	 (to)->flow_label = (from)->flow_label, (to)->hop_limit = (from)->hop_limit, \
	 (to)->traffic_class = (from)->traffic_class, (to)->reversible = (from)->reversible, \
	 (to)->numb_path = (from)->numb_path, (to)->pkey = (from)->pkey, (to)->sl = (from)->sl, \
	 (to)->mtu_selector = (from)->mtu_selector, (to)->mtu = (from)->mtu, \
	 (to)->rate_selector = (from)->rate_selector, (to)->rate = (from)->rate, \
	 (to)->packet_life_time_selector = (from)->packet_life_time_selector, \
	 (to)->packet_life_time = (from)->packet_life_time, (to)->preference = (from)->preference)

EXPORT void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *to, struct ib_user_path_rec *from);
EXPORT void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *to, struct ib_user_path_rec *from)
{
	memcpy(to->dgid.raw, from->dgid, sizeof(to->dgid));
	memcpy(to->sgid.raw, from->sgid, sizeof(to->sgid));
	PATH_FIELDS(to, from);
}

EXPORT void ibv_copy_path_rec_to_kern(struct ib_user_path_rec *to, struct ibv_sa_path_rec *from);
EXPORT void ibv_copy_path_rec_to_kern(struct ib_user_path_rec *to, struct ibv_sa_path_rec *from)
{
	memcpy(to->dgid, from->dgid.raw, sizeof(to->dgid));
	memcpy(to->sgid, from->sgid.raw, sizeof(to->sgid));
	PATH_FIELDS(to, from);
}
