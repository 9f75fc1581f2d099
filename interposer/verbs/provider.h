/* A provider moves the bytes below our libibverbs: the system's verbs ("real") or the software HCA ("soft").
 *
 * The functions are those of libibverbs (rdma-core's man pages, section 3), with the provider's own handles in place
 * of struct pointers.  Attributes are the structs of <infiniband/verbs.h>; their object pointers (send_cq, srq, pd,
 * ...) are ignored, the handles beside them count.  Functions return 0 or -errno and never block.  Addresses are those
 * of the upper half, in the same process.
 *
 * One thread at a time calls a provider (the plug-in's rule, host.h).
 */
#pragma once
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/* Bytes that a peer's request put into memory. */
struct verbs_arrival {
	const void *upper;
	size_t len;
	uint32_t source, dest; /* queue pair numbers */
	uint32_t number;       /* of the message, from 0 where the queue pairs were connected; 24 bits */
	uint32_t offset;       /* of these bytes in the message */
};

/* A completion that was put into a completion queue. */
struct verbs_completed {
	struct ibv_wc wc;
	bool received, solicited;
	uint32_t request; /* number of the send request, from 0 since RESET */
};

/* State of a completion queue: its completions, events not fetched yet, and the notification that was requested. */
struct verbs_queued {
	const struct verbs_completed *completed;
	unsigned count, events; /* events: on its channel */
	bool armed, solicited_only;
};

/* Functions of the plug-in that a provider may call. */
struct verbs_above {
	/* These bytes of upper memory have just been written.  Called only from inside a function of the provider. */
	void (*wrote)(void *upper, size_t len);
	/* Origin of written bytes, if it is known; called after wrote().  May be NULL. */
	void (*arrival)(const struct verbs_arrival *arrival);
	/* For restarts, from providers that know when these happen; may be NULL.  completed: a completion was queued.
	 * taken: this side has carried out a message completely; `number` is that of its arrivals, of a datagram that
	 * of its request; `was` is the old value, for an atomic. */
	void (*completed)(const struct verbs_completed *completed);
	void (*taken)(uint32_t source, uint32_t dest, uint32_t number, uint64_t was);
	/* An asynchronous event of this object was queued. */
	void (*happened)(int type, void *object);
	/* There is work for progress(), which will be called soon: at the next event or at a PREEMPT made for it.  Any
	 * thread of the provider may call this. */
	void (*arrived)(void);
	/* The device begins to write to this memory by itself, or stops (begin = false).  remote: peers may cause
	 * writes at any time. */
	void (*device_memory)(void *upper, size_t len, bool remote, bool begin);
	/* Moves a new descriptor of the provider out of the program's range of numbers; returns the new number or
	 * -errno. */
	int (*keep_descriptor)(int fd);
	void (*warn)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
	/* memcpy to or from memory of the program that may be unmapped; returns the number of bytes copied.  NULL: plain
	 * memcpy is safe. */
	size_t (*copy)(void *to, const void *from, size_t len);
	const char *key_file; /* soft: file with the job's secret, mode 0600 */
	bool tag_all;         /* soft: frames within this host carry tags, too */
};

struct verbs_device {
	char name[64];      /* "rdb0", "rxe0" */
	char dev_name[64];  /* "uverbs0" */
	uint64_t node_guid; /* network byte order */
	int node_type, transport_type;
};

struct verbs_qp_links { /* handles for the pointers of an ibv_qp_init_attr */
	void *pd, *send_cq, *recv_cq, *srq, *xrcd;
};

struct verbs_provider {
	const char *name;
	bool by_itself; /* the device moves the bytes; progress() has nothing to do */
	int (*start)(const struct verbs_above *above);
	void (*stop)(void);
	/* Called in a forked child: drops everything that belongs to the parent. */
	void (*in_child)(void);
	int (*devices)(struct verbs_device *list, unsigned room); /* number of devices, or -errno */
	/* The provider keeps the descriptors it returns (async_fd, create_channel's fd); the program gets duplicates.
	 * They are readable while there is an event. */
	int (*open)(unsigned device, void **context, int *async_fd, int *num_comp_vectors);
	int (*close)(void *context);
	int (*query_device)(void *context, struct ibv_device_attr_ex *attr, size_t size);
	int (*query_port)(void *context, uint8_t port, struct ibv_port_attr *attr);
	int (*query_gid)(void *context, uint8_t port, int index, struct ibv_gid_entry *entry);
	int (*query_pkey)(void *context, uint8_t port, int index, __be16 *pkey);
	int (*async_event)(void *context, int *type, void **object, int *port); /* -EAGAIN: none */

	int (*alloc_pd)(void *context, void **pd);
	int (*dealloc_pd)(void *pd);
	int (*reg_mr)(void *pd, void *addr, size_t length, uint64_t iova, unsigned access, void **mr, uint32_t *lkey,
		      uint32_t *rkey);
	int (*rereg_mr)(void *mr, int flags, void *pd, void *addr, size_t length, int access, uint32_t *lkey,
			uint32_t *rkey);
	int (*dereg_mr)(void *mr);
	/* NULL: there is no on-demand paging */
	int (*advise_mr)(void *pd, int advice, uint32_t flags, const struct ibv_sge *list, unsigned n);
	int (*alloc_mw)(void *pd, int type, void **mw, uint32_t *rkey);
	int (*dealloc_mw)(void *mw);
	int (*bind_mw)(void *qp, void *mw, void *mr, const struct ibv_mw_bind *bind, uint32_t *rkey);

	int (*create_channel)(void *context, void **channel, int *fd);
	int (*destroy_channel)(void *channel);
	int (*create_cq)(void *context, int *cqe, void *channel, int vector, void **cq);
	int (*resize_cq)(void *cq, int *cqe);
	int (*destroy_cq)(void *cq);
	int (*poll_cq)(void *cq, int n, struct ibv_wc *wc); /* number of completions, or -errno */
	/* When the completion that was polled last was queued: the monotonic clock in ns.  NULL: not known. */
	uint64_t (*completed_at)(void *cq);
	int (*req_notify_cq)(void *cq, int solicited_only);
	int (*cq_event)(void *channel, void **cq); /* -EAGAIN: none */

	int (*create_srq)(void *pd, struct ibv_srq_init_attr *attr, void **srq);
	int (*modify_srq)(void *srq, struct ibv_srq_attr *attr, int mask);
	int (*query_srq)(void *srq, struct ibv_srq_attr *attr);
	int (*destroy_srq)(void *srq);
	int (*post_srq_recv)(void *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

	int (*create_qp)(const struct verbs_qp_links *links, struct ibv_qp_init_attr *attr, void **qp,
			 uint32_t *qp_num);
	int (*modify_qp)(void *qp, struct ibv_qp_attr *attr, int mask);
	int (*query_qp)(void *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init);
	int (*destroy_qp)(void *qp);
	/* The caller has replaced wr.ud.ah and bind_mw.mw/mr of the requests by the provider's handles. */
	int (*post_send)(void *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
	int (*post_recv)(void *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

	int (*create_ah)(void *pd, struct ibv_ah_attr *attr, void **ah);
	int (*destroy_ah)(void *ah);
	int (*attach_mcast)(void *qp, const union ibv_gid *gid, uint16_t lid);
	int (*detach_mcast)(void *qp, const union ibv_gid *gid, uint16_t lid);

	/* Whether a process with registered memory may fork; `init`: call ibv_fork_init(3) first.
	 * Returns enum ibv_fork_status or -errno. */
	int (*fork_status)(bool init);
	/* Puts the saved state of an earlier queue into a new one.  NULL: not supported. */
	int (*restore_cq)(void *cq, const struct verbs_queued *queued);

	/* Queues an asynchronous event again.  NULL: not supported. */
	int (*restore_event)(void *context, int type, void *object);

	/* Folder below which the device's files lie: dev/infiniband, sys/class/infiniband, ...  NULL, or returns NULL:
	 * they are the system's. */
	const char *(*files)(void);

	/* Carries out what has arrived, without blocking; returns the number of things done. */
	int (*progress)(void);
};

const struct verbs_provider *verbs_soft(void);
const struct verbs_provider *verbs_real(void);
