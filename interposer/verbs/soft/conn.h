/* Connections between processes: one for each pair that talks, shared by their queue pairs. */
#ifndef RDB_HCA_CONN_H
#define RDB_HCA_CONN_H
#include <sys/uio.h>
#include "auth.h"
#include "keys.h"
#include "qp.h"
#include "wire.h"

enum {
	CONN_IN_BYTES = 64 << 10,
	CONN_IN_TAIL = 2 << 10, /* read on behind a payload that goes to its place */
	CONN_PIECES = 64,
	CONN_CHUNK = 32 << 10,
	CONN_COPY_MAX = 8 << 10,   /* payloads up to here are copied, longer ones sent from where they are */
	CONN_QUEUED_MAX = 1 << 20, /* bytes waiting: beyond this no more requests */
	CONN_STRANGERS = 64,
	CONN_HANDSHAKE_MS = 5000,
	CONN_READ_BUDGET = 4 << 20,
};

enum hca_conn_state { CONN_CONNECTING, CONN_AUTH, CONN_UP, CONN_DEAD };

/* Where a frame's payload goes. */
enum hca_sink_kind { SINK_DISCARD, SINK_SPANS, SINK_SMALL };
struct hca_sink {
	enum hca_sink_kind kind;
	struct hca_qp *qp; /* whose message it is; NULL: nobody's */
	struct hca_span spans[HCA_MAX_SGE + 1];
	unsigned nspans, at; /* the one that is being filled */
	size_t done;         /* bytes of it */
	bool faulted;        /* memory went away */
};

struct hca_piece {
	const uint8_t *data;
	size_t len, sent, room;
	uint8_t *owned; /* to be freed; NULL: the program's memory */
	struct hca_qp *qp;
};

struct hca_conn {
	struct list link, dirty;
	int fd;
	enum hca_conn_state state;
	bool initiator, registered;
	uint32_t ip;   /* network byte order */
	uint16_t port; /* where the peer listens */
	unsigned slot; /* of the peer */
	uint64_t deadline;
	struct hca_auth auth;
	struct list senders, responders, acks;
	struct {
		uint8_t *buf;
		size_t start, end;
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
		bool blocked; /* the socket takes no more */
	} out;
};

/* The one to (ip, port), made if need be.  NULL with -errno in *rc. */
struct hca_conn *hca_conn_to(uint32_t ip, uint16_t port, int *rc);
void hca_conn_accept(void);
/* Over, with all that depends on it; `why` NULL: the peer went. It is freed by hca_conns_bury. */
void hca_conn_fail(struct hca_conn *conn, const char *why);
void hca_conns_bury(void);
void hca_conns_stop(void);
/* Authenticated. */
void hca_conn_is_up(struct hca_conn *conn);
/* There is something to send on it; hca_pump sends on all such. */
void hca_conn_touch(struct hca_conn *conn);
void hca_pump(void);
/* At the start: those before were another process's. */
void hca_pump_forget(void);

/* conn_in.c: how many frames came. */
int hca_conn_read(struct hca_conn *conn);
/* A fuzzer's way in: bytes as if they had come from the socket. */
int hca_conn_feed(struct hca_conn *conn, const uint8_t *data, size_t len);
void hca_conns_forget_mr(const struct hca_mr *mr);
void hca_conns_forget_qp(const struct hca_qp *qp);

/* conn_out.c */
/* A frame without payload, or with one that is copied: where to put its bytes; NULL: the connection is over. */
uint8_t *hca_conn_put(struct hca_conn *conn, const struct frame *f);
/* A frame whose payload stays where it is until it has been sent.  False: that is not there. */
bool hca_conn_put_spans(struct hca_conn *conn, const struct frame *f, struct hca_qp *qp, const struct hca_span *spans,
			unsigned n, bool copy);
uint8_t *hca_conn_put_raw(struct hca_conn *conn, size_t len);
bool hca_conn_has_room(const struct hca_conn *conn);
void hca_conn_flush(struct hca_conn *conn);
/* Copies what is not sent yet of this queue pair, or of this memory, so that it may go. */
void hca_conn_own(struct hca_conn *conn, const struct hca_qp *qp, const uint8_t *low, const uint8_t *high);
void hca_conn_out_free(struct hca_conn *conn);

#endif
