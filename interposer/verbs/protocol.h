/* What the upper half's libibverbs asks the lower half: hypercalls of RDB_NS_VERBS.
 *
 * Objects are named by ids, which are never used twice in a process.  Arguments are 64-bit values, in the order of
 * the comments; "-> id" is the result.  Names ending in * are upper addresses of the structs of <infiniband/verbs.h>,
 * whose own pointers do not count, or of those below; a failure is -errno.  `cookie` is the program's own object,
 * given back with events.  rdb/recording/verbs/objects.py reads the same from a log.
 */
#ifndef RDB_VERBS_PROTOCOL_H
#define RDB_VERBS_PROTOCOL_H
#include <stdint.h>
#include "crossing/gate.h"

enum verbs_call {
	VERBS_DEVICES = 1,     /* struct verbs_device list*, room -> how many */
	VERBS_OPEN,            /* device, cookie, struct verbs_opened* -> id */
	VERBS_CLOSE,           /* context */
	VERBS_QUERY_DEVICE,    /* context, ibv_device_attr_ex*, size */
	VERBS_QUERY_PORT,      /* context, port, ibv_port_attr* */
	VERBS_QUERY_GID,       /* context, port, index, ibv_gid_entry* */
	VERBS_QUERY_PKEY,      /* context, port, index, __be16* */
	VERBS_ASYNC_EVENT,     /* context, struct verbs_event*; -EAGAIN: none */
	VERBS_ALLOC_PD,        /* context -> id */
	VERBS_DEALLOC_PD,      /* pd */
	VERBS_REG_MR,          /* pd, addr, length, iova, access, struct verbs_keys* -> id */
	VERBS_REREG_MR,        /* mr, flags, pd, addr, length, access, struct verbs_keys* */
	VERBS_DEREG_MR,        /* mr */
	VERBS_ALLOC_MW,        /* pd, type, rkey* -> id */
	VERBS_DEALLOC_MW,      /* mw */
	VERBS_BIND_MW,         /* qp, mw, mr or 0, ibv_mw_bind*, rkey* */
	VERBS_CREATE_CHANNEL,  /* context, fd* -> id */
	VERBS_DESTROY_CHANNEL, /* channel */
	VERBS_CREATE_CQ,       /* context, entries* (in and out), channel or 0, vector, cookie -> id */
	VERBS_RESIZE_CQ,       /* cq, entries* */
	VERBS_DESTROY_CQ,      /* cq */
	VERBS_POLL_CQ,         /* cq, room, ibv_wc* -> how many */
	VERBS_NOTIFY_CQ,       /* cq, solicited only */
	VERBS_CQ_EVENT,        /* channel -> cookie of the CQ; -EAGAIN: none */
	VERBS_CREATE_SRQ,      /* pd, ibv_srq_init_attr*, cookie -> id */
	VERBS_MODIFY_SRQ,      /* srq, ibv_srq_attr*, mask */
	VERBS_QUERY_SRQ,       /* srq, ibv_srq_attr* */
	VERBS_DESTROY_SRQ,     /* srq */
	VERBS_POST_SRQ_RECV,   /* srq, ibv_recv_wr*; see verbs_bad() */
	VERBS_CREATE_QP,       /* pd, send cq, recv cq, srq or 0, type, ibv_qp_init_attr*, cookie, qp_num* -> id */
	VERBS_MODIFY_QP,       /* qp, ibv_qp_attr*, mask, the new state or -1, the peer's number or 0 */
	VERBS_QUERY_QP,        /* qp, ibv_qp_attr*, mask, ibv_qp_init_attr* */
	VERBS_DESTROY_QP,      /* qp */
	VERBS_POST_SEND,       /* qp, ibv_send_wr*; see verbs_bad() */
	VERBS_POST_RECV,       /* qp, ibv_recv_wr* */
	VERBS_CREATE_AH,       /* pd, ibv_ah_attr* -> id */
	VERBS_DESTROY_AH,      /* ah */
	VERBS_ATTACH_MCAST,    /* qp, ibv_gid*, lid */
	VERBS_DETACH_MCAST,    /* qp, ibv_gid*, lid */
	VERBS_FORK,            /* 1: ibv_fork_init(3), 0: only asks -> enum ibv_fork_status */
	VERBS_CALLS,
};

struct verbs_opened {
	int32_t async_fd;
	int32_t comp_vectors;
};

struct verbs_keys {
	uint32_t lkey, rkey;
};

struct verbs_event {
	uint64_t object; /* cookie, or port number */
	uint32_t type;   /* enum ibv_event_type */
	uint32_t reserved;
};

/* A failed post: which request of the list it was, beside the error. */
static inline int64_t verbs_bad(int error, uint32_t index)
{
	return -((int64_t)index << 16 | error);
}

static inline uint32_t verbs_bad_index(int64_t result)
{
	return (uint32_t)(-result >> 16);
}

static inline int verbs_bad_error(int64_t result)
{
	return (int)(-result & 0xffff);
}

/* RDB_NOTE_VERBS, of a post: one for each request that was taken. */
struct verbs_note_post {
	uint64_t wr_id;
	uint64_t bytes;
	uint32_t opcode; /* enum ibv_wr_opcode; 0xffffffff: a receive */
	uint32_t flags;  /* enum ibv_send_flags */
	uint64_t from;   /* where the bytes lie, if in one piece, else 0 */
};

/* RDB_NOTE_COMPLETED: a completion that was queued; `wc` is a struct ibv_wc. */
struct verbs_note_completed {
	uint8_t received, solicited, reserved[2];
	uint32_t request; /* of a send queue: from 0 since RESET */
	uint8_t wc[48];
};

/* RDB_NOTE_TAKEN: a message that was carried out to its end here. */
struct verbs_note_taken {
	uint32_t source, dest, number, reserved;
	uint64_t was; /* what an atomic found */
};

/* RDB_NOTE_ASYNC: an event of that object that the program may ask for from now on; ids. */
struct verbs_note_async {
	uint32_t context, type, object;
};

/* RDB_NOTE_ARRIVAL: struct verbs_arrival (provider.h). */
struct verbs_note_arrival {
	uint64_t addr, len;
	uint32_t source, dest, number, offset;
};

#endif
