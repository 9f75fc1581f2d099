/* The "real" provider: passes provider.h's calls to the system's libibverbs, one to one.
 *
 * It is a shared object of its own (verbs-real.so), linked with libibverbs, so that the plug-in can be loaded where
 * libibverbs is not installed.  Handles are libibverbs's own pointers, except for regions.  The program's own memory is
 * registered: the device reads and writes it directly.
 */
#pragma once
#include <errno.h>
#include <stdbool.h>
#include "provider.h"

#define RDB_VERBS_REAL_SYMBOL "rdb_verbs_real"

extern const struct verbs_above *real_above;

/* Turn libibverbs's two ways to fail into 0 or -errno: NULL with errno; an error number, or -1 with errno. */
int real_made(void *object, void **handle);
int real_done(int rc);
/* Whether a read of this descriptor would not block. */
bool real_readable(int fd);
/* Moves a descriptor out of the program's range.  0 or -errno. */
int real_hide_descriptor(int *fd);

int real_devices(struct verbs_device *list, unsigned room);
int real_open(unsigned device, void **context, int *async_fd, int *num_comp_vectors);
int real_close(void *context);
int real_query_device(void *context, struct ibv_device_attr_ex *attr, size_t size);
int real_query_port(void *context, uint8_t port, struct ibv_port_attr *attr);
int real_query_gid(void *context, uint8_t port, int index, struct ibv_gid_entry *entry);
int real_query_pkey(void *context, uint8_t port, int index, __be16 *pkey);
int real_async_event(void *context, int *type, void **object, int *port);

int real_alloc_pd(void *context, void **pd);
int real_dealloc_pd(void *pd);
int real_reg_mr(void *pd, void *addr, size_t length, uint64_t iova, unsigned access, void **mr, uint32_t *lkey,
		uint32_t *rkey);
int real_rereg_mr(void *mr, int flags, void *pd, void *addr, size_t length, int access, uint32_t *lkey, uint32_t *rkey);
int real_dereg_mr(void *mr);
struct ibv_mr *real_mr(void *handle); /* the region behind a handle; NULL for NULL */
int real_alloc_mw(void *pd, int type, void **mw, uint32_t *rkey);
int real_dealloc_mw(void *mw);
int real_bind_mw(void *qp, void *mw, void *mr, const struct ibv_mw_bind *bind, uint32_t *rkey);
int real_create_ah(void *pd, struct ibv_ah_attr *attr, void **ah);
int real_destroy_ah(void *ah);

int real_create_channel(void *context, void **channel, int *fd);
int real_destroy_channel(void *channel);
int real_create_cq(void *context, int *cqe, void *channel, int vector, void **cq);
int real_resize_cq(void *cq, int *cqe);
int real_destroy_cq(void *cq);
int real_poll_cq(void *cq, int n, struct ibv_wc *wc);
int real_req_notify_cq(void *cq, int solicited_only);
int real_cq_event(void *channel, void **cq);

int real_create_srq(void *pd, struct ibv_srq_init_attr *attr, void **srq);
int real_modify_srq(void *srq, struct ibv_srq_attr *attr, int mask);
int real_query_srq(void *srq, struct ibv_srq_attr *attr);
int real_destroy_srq(void *srq);
int real_post_srq_recv(void *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int real_create_qp(const struct verbs_qp_links *links, struct ibv_qp_init_attr *attr, void **qp, uint32_t *qp_num);
int real_modify_qp(void *qp, struct ibv_qp_attr *attr, int mask);
int real_query_qp(void *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init);
int real_destroy_qp(void *qp);
int real_post_send(void *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int real_post_recv(void *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int real_attach_mcast(void *qp, const union ibv_gid *gid, uint16_t lid);
int real_detach_mcast(void *qp, const union ibv_gid *gid, uint16_t lid);
