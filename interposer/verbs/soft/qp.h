/* Queue pairs: declarations that requester and responder share. */
#pragma once
#include "cq.h"
#include "rq.h"
#include "wire.h"

struct hca_conn;
struct hca_sink;

/* A posted send request. */
struct hca_wqe {
	uint64_t wr_id, addr, compare, swap;
	uint32_t rkey, extra, length, seq;
	uint32_t sent; /* bytes given to the connection */
	uint32_t got;  /* bytes of a READ's answer that arrived */
	enum ibv_wr_opcode opcode;
	unsigned flags, nsge;
	enum ibv_wc_status status; /* of its completion, once it has failed */
	bool started, done;
	/* datagrams */
	uint32_t ip, dest, qkey;
	uint8_t sgid_index;
	bool multicast, spread; /* to a group; spread: sq->targets has been filled with the members */
	union ibv_gid group;
	/* windows: `rkey` and `region` are keys, since both may be freed before the request's turn */
	uint32_t region; /* 0: none */
	struct ibv_mw_bind_info bind;
	union {
		struct ibv_sge sge[0];
		uint8_t data[0]; /* IBV_SEND_INLINE */
	};
};

struct hca_send_queue {
	uint8_t *ring;
	unsigned size, max_sge, max_inline;
	size_t stride;
	unsigned head, next, tail; /* counters: oldest request, first not sent completely, next to be posted */
	uint32_t seq, acked;       /* of the next message; of the first unacknowledged message */
	uint8_t attempt;
	unsigned retries, rnr_retries; /* left */
	unsigned reads;                /* READs and atomics under way */
	bool stopped;                  /* a request has failed and waits to complete; no other is begun */
	uint64_t due;                  /* time to go on, ns; 0: now */
	struct list timer, link;       /* in hca.timers; in conn->senders */
	struct hca_conn *conn;
	struct hca_targets *targets; /* of the current multicast datagram; allocated at the first one */
	bool lost;                   /* its connection has ended, so the peer is gone */
};

/* A READ that is being answered, or a NAK behind such READs, which is the last answer. */
struct hca_answer {
	uint32_t seq, rkey, total, sent;
	uint64_t addr;
	uint8_t attempt, nak;
};

struct hca_responder {
	struct hca_conn *conn;
	uint32_t seq;       /* expected */
	bool active;        /* in the middle of a message */
	struct frame first; /* first frame of this message */
	uint32_t received;  /* bytes of this message */
	bool has_recv;      /* recv was taken and not completed yet */
	struct hca_recv recv;
	bool gone; /* the peer's connection has ended; no other process may take its place */
	uint32_t ack_seq;
	uint8_t ack_attempt;
	struct list ack_link, link; /* in conn->acks; in conn->responders */
	struct hca_answer *answers; /* a ring */
	unsigned room, head, count;
};

struct hca_qp {
	uint32_t number;
	enum ibv_qp_type type;
	enum ibv_qp_state state;
	struct hca_pd *pd;
	struct hca_cq *scq, *rcq;
	struct hca_srq *srq;
	struct ibv_qp_cap cap;
	bool sig_all, established, drained_told, sqd_notify;
	struct ibv_qp_attr attr; /* as ibv_modify_qp set it, without the state */
	uint32_t peer_ip;
	uint16_t peer_port;
	struct hca_send_queue sq;
	struct hca_rq rq;
	struct hca_responder rx;
	unsigned groups; /* multicast groups it is attached to */
};

int hca_create_qp(const struct verbs_qp_links *links, struct ibv_qp_init_attr *attr, void **qp, uint32_t *qp_num);
int hca_modify_qp(void *qp, struct ibv_qp_attr *attr, int mask);
int hca_query_qp(void *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init);
int hca_destroy_qp(void *qp);
int hca_post_send(void *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int hca_post_recv(void *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int hca_bind_mw(void *qp, void *mw, void *mr, const struct ibv_mw_bind *bind, uint32_t *rkey);

struct hca_qp *hca_qp_find(uint32_t number);
/* Moves to ERR and flushes all posted requests. */
void hca_qp_fail(struct hca_qp *qp);
/* Moves to SQE and flushes the send queue only; RC moves to ERR. */
void hca_qp_fail_send(struct hca_qp *qp);
/* Frees it. */
void hca_qp_end(struct hca_qp *qp);
/* Removes it from all connections, its payloads that are not sent yet are copied. */
void hca_qp_detach(struct hca_qp *qp);
/* Fails all queue pairs of a completion queue that has overrun. */
void hca_qps_lost_cq(const struct hca_cq *cq);
/* Whether its state lets it receive. */
static inline bool hca_qp_hears(const struct hca_qp *qp)
{
	return qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD ||
	       qp->state == IBV_QPS_SQE;
}

/* Send queue: wqe.c, requester.c, answers.c */
int hca_sq_init(struct hca_qp *qp, const struct ibv_qp_cap *cap);
void hca_sq_fini(struct hca_qp *qp);
void hca_sq_reset(struct hca_qp *qp);
/* Adds a request.  0 or -errno. */
int hca_sq_put(struct hca_qp *qp, const struct ibv_send_wr *wr);
struct hca_wqe *hca_sq_at(const struct hca_send_queue *sq, unsigned i);
/* Registers with the connection if there is something to send. */
void hca_sq_start(struct hca_qp *qp);
/* Sends one frame on the connection.  False: nothing to send now; it was removed from the connection's list. */
bool hca_sq_step(struct hca_qp *qp, struct hca_conn *conn);
/* Completes finished requests, in order. */
void hca_sq_complete(struct hca_qp *qp);
void hca_sq_flush(struct hca_qp *qp);
void hca_sq_timer(struct hca_qp *qp);
void hca_sq_conn_lost(struct hca_qp *qp, bool was_up);
/* Header of an answer from the peer; sets *sink if a payload follows. */
void hca_sq_answer(struct hca_conn *conn, const struct frame *f, struct hca_sink *sink);
/* The answer's payload has arrived; good: all of it is in place. */
void hca_sq_answer_end(struct hca_conn *conn, const struct frame *f, bool good);

/* Responder: responder.c */
int hca_rx_init(struct hca_qp *qp, unsigned reads);
void hca_rx_reset(struct hca_qp *qp);
void hca_rx_conn_lost(struct hca_qp *qp);
void hca_rx_flush(struct hca_qp *qp);
void hca_rx_begin(struct hca_conn *conn, const struct frame *f, struct hca_sink *sink);
void hca_rx_end(struct hca_conn *conn, const struct frame *f, bool good);
bool hca_rx_step(struct hca_qp *qp, struct hca_conn *conn);
void hca_rx_send_ack(struct hca_qp *qp, struct hca_conn *conn);
bool hca_rx_take_recv(struct hca_qp *qp, struct hca_recv *recv);
void hca_rx_complete(struct hca_qp *qp, const struct hca_recv *recv, struct ibv_wc *wc, bool solicited);

/* Datagrams: ud.c */
struct hca_ah {
	struct hca_pd *pd;
	uint32_t ip;
	uint8_t sgid_index;
	bool multicast;
	union ibv_gid group;
};
int hca_create_ah(void *pd, struct ibv_ah_attr *attr, void **ah);
int hca_destroy_ah(void *ah);
bool hca_ud_step(struct hca_qp *qp, struct hca_conn *conn);
void hca_ud_begin(struct hca_conn *conn, const struct frame *f, struct hca_sink *sink);
void hca_ud_end(struct hca_conn *conn, const struct frame *f, bool good);

/* mcast.c */
int hca_attach_mcast(void *qp, const union ibv_gid *gid, uint16_t lid);
int hca_detach_mcast(void *qp, const union ibv_gid *gid, uint16_t lid);
