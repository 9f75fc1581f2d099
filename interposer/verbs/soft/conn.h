/* Connections between processes: one for each pair that talks, shared by their queue pairs. */
#pragma once
#include <sys/uio.h>
#include "auth.h"
#include "keys.h"
#include "qp.h"
#include "wire.h"

enum {
	CONN_IN_BYTES = 64 << 10,
	CONN_IN_TAGGED = FRAME_PAYLOAD + CONN_IN_BYTES, /* a tagged frame must be complete before it is checked */
	CONN_IN_TAIL = 2 << 10,                         /* bytes read behind a payload that is received in place */
	CONN_PIECES = 64,
	CONN_CHUNK = 32 << 10,
	CONN_COPY_MAX = 8 << 10,   /* payloads up to this size are copied, longer ones are sent in place */
	CONN_QUEUED_MAX = 1 << 20, /* with so many bytes waiting no more requests are queued */
	CONN_STRANGERS = 64,
	CONN_HANDSHAKE_MS = 5000,
	CONN_READ_BUDGET = 4 << 20,
};

enum hca_conn_state { CONN_CONNECTING, CONN_AUTH, CONN_UP, CONN_DEAD };

/* Destination of a frame's payload. */
enum hca_sink_kind { SINK_DISCARD, SINK_SPANS, SINK_SMALL };
struct hca_sink {
	enum hca_sink_kind kind;
	struct hca_qp *qp; /* queue pair of the message; NULL: none */
	struct hca_span spans[HCA_MAX_SGE + 1];
	unsigned nspans, at; /* at: span that is being filled */
	size_t done;         /* bytes of this span */
	bool faulted;        /* memory was unmapped or deregistered meanwhile */
};

struct hca_piece {
	const uint8_t *data;
	size_t len, sent, room;
	uint8_t *owned; /* freed with the piece; NULL: `data` is the program's memory */
	struct hca_qp *qp;
};

struct hca_conn {
	struct list link, dirty;
	int fd;
	enum hca_conn_state state;
	bool initiator, registered;
	bool tagged;   /* its frames carry tags */
	uint32_t ip;   /* network byte order */
	uint16_t port; /* at which the peer listens */
	unsigned slot; /* of the peer */
	uint64_t deadline;
	struct hca_auth auth;
	struct list senders, responders, acks;
	struct {
		uint8_t *buf;
		size_t start, end, room;
		uint8_t key[FRAME_KEY];
		uint64_t number; /* of the next frame */
		bool in_payload;
		struct frame frame;
		uint32_t left;
		struct hca_sink sink;
		uint8_t small[FRAME_MTU]; /* operands of atomics, datagrams */
	} in;
	struct {
		struct hca_piece ring[CONN_PIECES];
		unsigned head, count;
		size_t queued;
		bool blocked;  /* the socket's buffer is full */
		uint8_t *open; /* last frame, if it has no tag yet: its caller may still be filling in the payload */
		uint8_t key[FRAME_KEY];
		uint64_t number;
	} out;
};

/* The connection to (ip, port), made if there is none.  NULL with -errno in *rc. */
struct hca_conn *hca_conn_to(uint32_t ip, uint16_t port, int *rc);
void hca_conn_accept(void);
/* Ends the connection and tells the queue pairs that use it.  `why` NULL: the peer ended it; else RC and UC queue pairs
 * fail.  hca_conns_bury() frees it. */
void hca_conn_fail(struct hca_conn *conn, const char *why);
void hca_conns_bury(void);
void hca_conns_stop(void);
/* The handshake has succeeded. */
void hca_conn_is_up(struct hca_conn *conn);
/* Marks a connection that has something to send; hca_pump() sends on all marked ones. */
static inline void hca_conn_touch(struct hca_conn *c)
{
	if (list_empty(&c->dirty) && c->state != CONN_DEAD)
		list_append(&hca.touched, &c->dirty);
}
void hca_pump(void);

/* conn_in.c: receives what has arrived; returns the number of frames that ended. */
int hca_conn_read(struct hca_conn *conn);
/* For fuzzers: handles bytes as if they had come from the socket. */
int hca_conn_feed(struct hca_conn *conn, const uint8_t *data, size_t len);
void hca_conns_forget_mr(const struct hca_mr *mr);
void hca_conns_forget_qp(const struct hca_qp *qp);

/* conn_out.c */
/* Queues a frame; returns the place for its payload, which the caller copies there at once.  NULL: the connection has
 * ended. */
uint8_t *hca_conn_put(struct hca_conn *conn, const struct frame *f);
/* Queues a frame whose payload is in `spans`.  A long one stays there until it has been sent, unless `copy`.
 * False: the memory is not readable. */
bool hca_conn_put_spans(struct hca_conn *conn, const struct frame *f, struct hca_qp *qp, const struct hca_span *spans,
			unsigned n, bool copy);
uint8_t *hca_conn_put_raw(struct hca_conn *conn, size_t len);
bool hca_conn_has_room(const struct hca_conn *conn);
void hca_conn_flush(struct hca_conn *conn);
/* Copies payloads of this queue pair or, if NULL, of this memory that are not sent yet, so that it may go away. */
void hca_conn_own(struct hca_conn *conn, const struct hca_qp *qp, const uint8_t *low, const uint8_t *high);
void hca_conn_out_free(struct hca_conn *conn);
