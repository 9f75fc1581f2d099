/* What two HCAs say to each other once each knows that the other holds the key (auth.h): frames, each a
 * header of fixed size, little-endian, and at most FRAME_PAYLOAD bytes.
 *
 * Requests go from a queue pair's send queue to the peer's responder, answers come back on the same
 * connection.  A message longer than a frame is several frames in order; `offset` and `total` say which part.
 * RC: `seq` counts a queue pair's messages (24 bits, begins at sq_psn); `attempt` changes whenever the
 * requester starts again from some message, so that answers to what it sent before can be told.
 */
#ifndef RDB_HCA_WIRE_H
#define RDB_HCA_WIRE_H
#include <stdbool.h>
#include <stdint.h>

enum {
	FRAME_VERSION = 1,
	FRAME_PAYLOAD = 256 << 10,
	FRAME_ATOMIC_OPERANDS = 16, /* bytes: compare or add, swap */
	FRAME_MTU = 4096,           /* of a datagram */
	FRAME_NUMBERS = 0xffffff,   /* queue pair numbers and seq have 24 bits */
};
#define FRAME_MESSAGE_MAX 0x80000000u /* bytes */

enum frame_op {
	FRAME_SEND = 1,
	FRAME_WRITE,
	FRAME_READ,      /* total: how much; no payload */
	FRAME_CMP_SWAP,  /* payload: compare, swap */
	FRAME_FETCH_ADD, /* payload: add, 0 */
	FRAME_DATAGRAM,
	FRAME_MULTICAST, /* the same; addr, rkey, seq and attempt: the group (mcast.h); code: the sender's GID index */
	FRAME_ACK = 32,  /* this message and all before it, except READs and atomics, which are answered */
	FRAME_NAK,       /* code: enum frame_nak */
	FRAME_RNR,       /* no receive was posted; code: min_rnr_timer */
	FRAME_DROPPED, /* nobody there, or not the message expected: hardware would say nothing and let a timer run out */
	FRAME_READ_DATA,
	FRAME_ATOMIC_DATA, /* addr: what was there before */
	FRAME_CM = 64,     /* connection management (cm.h) */
};

enum frame_flags {
	FRAME_SOLICITED = 1,
	FRAME_IMM = 2,        /* extra: immediate data, as it was given */
	FRAME_INVALIDATE = 4, /* extra: rkey */
};

enum frame_nak {
	NAK_INVALID_REQUEST = 1,
	NAK_ACCESS,
	NAK_OPERATION,
};

struct frame {
	uint8_t op, flags, code, attempt;
	uint32_t dest, source; /* queue pair numbers */
	uint32_t seq;
	uint64_t addr;
	uint32_t rkey;
	uint32_t total, offset, length; /* of the message; where this part begins; of this part, which follows */
	uint32_t extra;
	uint32_t qkey;
};
_Static_assert(sizeof(struct frame) == 48, "on the wire");

static inline bool frame_first(const struct frame *f)
{
	return f->offset == 0;
}

static inline bool frame_last(const struct frame *f)
{
	return f->offset + f->length == f->total;
}

/* a - b, of 24 bit numbers: negative if a is before b. */
static inline int32_t frame_seq_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

/* Whether a frame may be looked at at all: each field in its range and in agreement with the others.  What it
 * refers to is checked by those it is for. */
bool frame_valid(const struct frame *f);

#endif
