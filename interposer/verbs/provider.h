/* What moves the bytes below our libibverbs: the system's verbs ("real") or the software HCA ("soft").
 *
 * The functions are those of libibverbs (rdma-core's man pages, section 3) with the provider's own handles
 * in place of struct pointers; attributes are the structs of <infiniband/verbs.h>, whose object pointers (send_cq, srq, pd, ...)
 * are ignored: the handles beside them count.  0 or -errno everywhere; calls never block.  Addresses are those of the upper half, in
 * the same process.
 *
 * Called by one thread at a time (the plug-in's rule, host.h).
 */
#ifndef RDB_VERBS_PROVIDER_H
#define RDB_VERBS_PROVIDER_H
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

/* A completion that was put into a queue, where polls find it. */
struct verbs_completed {
	struct ibv_wc wc;
	bool received, solicited;
	uint32_t request; /* of a send queue: which one, from 0 since RESET */
};

/* What is in a completion queue, and what was asked of it and not told yet. */
struct verbs_queued {
	const struct verbs_completed *completed;
	unsigned count, events; /* events: on its channel */
	bool armed, solicited_only;
};

/* What a provider may ask of those above it. */
struct verbs_above {
	/* progress() wrote these bytes of upper memory (already there).  Only from inside progress(), poll_cq(), post_*() and other calls. */
	void (*wrote)(void *upper, size_t len);
	/* And where they came from, after that, as far as it is known; may be NULL. */
	void (*arrival)(const struct verbs_arrival *arrival);
	/* For restarts, as far as the provider knows when it happens; may be NULL: a completion was queued; a message
	 * (numbered as arrivals are, a datagram as its request) was carried out to its end here; `was`: what an
	 * atomic found. */
	void (*completed)(const struct verbs_completed *completed);
	void (*taken)(uint32_t source, uint32_t dest, uint32_t number, uint64_t was);
	/* An asynchronous event of that object is there. */
	void (*happened)(int type, void *object);
	/* From any thread of the provider's: something waits for progress().  It will be called soon: at the next event, or at a position made for it. */
	void (*arrived)(void);
	/* The device itself writes to this memory, from now on (begin) or not any more; remote: when others like. */
	void (*device_memory)(void *upper, size_t len, bool remote, bool begin);
	/* Tells a file descriptor made by the provider that must not be in the program's range of numbers; returns the new one or -errno. */
	int (*keep_descriptor)(int fd);
	void (*warn)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
	/* memcpy, to or from the program's memory, which may not be there: how many bytes it did; NULL: all is there. */
	size_t (*copy)(void *to, const void *from, size_t len);
	const char *key_file; /* soft: the secret that the processes of one job share; 0600 */
};

struct verbs_device {
	char name[64];      /* "rdb0", "rxe0" */
	char dev_name[64];  /* "uverbs0" */
	uint64_t node_guid; /* network byte order */
	int node_type, transport_type;
};

struct verbs_qp_links { /* what an ibv_qp_init_attr's pointers mean */
	void *pd, *send_cq, *recv_cq, *srq, *xrcd;
};

struct verbs_provider {
	const char *name;
	bool by_itself; /* the device moves bytes by itself: progress() has nothing to do */
	int (*start)(const struct verbs_above *above);
	void (*stop)(void);
	/* In a forked child nothing of the parent's may be used any more. */
	void (*in_child)(void);
	int (*devices)(struct verbs_device *list, unsigned room); /* how many, or -errno */
	/* Descriptors that are given back (async_fd, create_channel's fd) stay the provider's: the program gets
	 * duplicates.  They are readable while there is an event. */
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
	int (*alloc_mw)(void *pd, int type, void **mw, uint32_t *rkey);
	int (*dealloc_mw)(void *mw);
	int (*bind_mw)(void *qp, void *mw, void *mr, const struct ibv_mw_bind *bind, uint32_t *rkey);

	int (*create_channel)(void *context, void **channel, int *fd);
	int (*destroy_channel)(void *channel);
	int (*create_cq)(void *context, int *cqe, void *channel, int vector, void **cq);
	int (*resize_cq)(void *cq, int *cqe);
	int (*destroy_cq)(void *cq);
	int (*poll_cq)(void *cq, int n, struct ibv_wc *wc); /* how many, or -errno */
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
	/* wr.ud.ah and bind_mw.mw/mr of the requests hold the provider's handles, put there by the caller. */
	int (*post_send)(void *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
	int (*post_recv)(void *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

	int (*create_ah)(void *pd, struct ibv_ah_attr *attr, void **ah);
	int (*destroy_ah)(void *ah);
	int (*attach_mcast)(void *qp, const union ibv_gid *gid, uint16_t lid);
	int (*detach_mcast)(void *qp, const union ibv_gid *gid, uint16_t lid);

	/* May a process that has registered memory fork?  `init`: as ibv_fork_init(3).  -> enum ibv_fork_status or -errno */
	int (*fork_status)(bool init);
	/* A new queue gets what one had that is no more; NULL: it cannot. */
	int (*restore_cq)(void *cq, const struct verbs_queued *queued);

	/* The same for an asynchronous event of one of its objects. */
	int (*restore_event)(void *context, int type, void *object);

	/* Carries out what has arrived, without blocking; how many things were done. */
	int (*progress)(void);
};

const struct verbs_provider *verbs_soft(void);
const struct verbs_provider *verbs_real(void);

#endif
