/* The software HCA: verbs over TCP, between processes that hold the same key.
 *
 * It writes to the program's memory ("upper") only inside calls of the plug-in, and reports each write.  Its thread
 * (io_thread.c) only notices that there is work; everything else runs in one thread at a time.
 */
#pragma once
#include "../provider.h"
#include "list.h"

enum {
	HCA_SLOT_SHIFT = 14, /* queue pair number = slot << 14 | index */
	HCA_SLOTS = 1 << (24 - HCA_SLOT_SHIFT),
	HCA_QPS = 1 << HCA_SLOT_SHIFT,
	HCA_PORT_BASE = 20000,
	HCA_MAX_SGE = 32,
	HCA_MAX_WR = 16384,
	HCA_MAX_INLINE = 1024,
	HCA_MAX_CQE = 1 << 20,
	HCA_MAX_READS = 128,  /* RDMA READs and atomics under way per queue pair */
	HCA_MAX_DM = 1 << 20, /* bytes of device memory */
	HCA_GIDS = 16,
	HCA_KEY_BYTES = 32,
};

/* A contiguous piece of registered memory. */
struct hca_mr;
struct hca_span {
	uint8_t *addr;
	size_t len;
	const struct hca_mr *mr;
};

struct hca_gid {
	union ibv_gid gid;
	uint32_t ip; /* network byte order */
	unsigned ifindex;
};

struct hca {
	const struct verbs_above *above;
	uint16_t lid; /* 0: Ethernet port; else an InfiniBand port with this LID, on a fabric of one host */
	int slot, listener, epoll;
	uint16_t base;
	uint64_t instance; /* random; differs from that of earlier processes in this slot */
	uint8_t key[HCA_KEY_BYTES];
	struct hca_gid gids[HCA_GIDS];
	unsigned ngids;
	struct list conns, touched;  /* touched: those that have something to send (hca_pump()) */
	unsigned nconns, nstrangers; /* strangers: connections not authenticated yet */
	struct list timers;          /* queue pairs whose send queue waits until `due` */
	struct list contexts;
	struct hca_qp *qps[HCA_QPS];
	unsigned nqps, next_qp;
	unsigned calls;    /* of progress() */
	bool acks_waiting; /* acknowledgements are held back so that they can go with a request */
};
extern struct hca hca;

/* Writes to upper memory and reports it.  False: not all of the memory was there. */
bool hca_copy_up(void *upper, const void *from, size_t len);
/* memcpy to or from memory that the program may have unmapped; returns the number of bytes copied. */
size_t hca_copy(void *to, const void *from, size_t len);

#define hca_warn(...) \
	do { \
		if (hca.above->warn) \
			hca.above->warn(__VA_ARGS__); \
	} while (0)

/* Moves a new descriptor out of the program's range; returns its new number or -errno.  fd < 0: returns -errno. */
int hca_keep(int fd);

/* gids.c */
void hca_gids_read(void);
/* The IPv4 address (network byte order) behind a GID; without a GID, this host's.  False: not an IPv4-mapped GID, or a
 * LID of another host. */
bool hca_gid_address(const struct ibv_ah_attr *attr, uint32_t *ip);
bool hca_address_is_local(uint32_t ip);
uint64_t hca_node_guid(void);

/* Nanoseconds of the monotonic clock. */
uint64_t hca_now(void);
/* Watches a descriptor; `conn` NULL: the listener. */
int hca_watch(int fd, void *conn, bool add, bool output);
