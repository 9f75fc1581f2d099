/* After both HCAs have proved that they hold the key (auth.h) they exchange frames: a header of fixed size,
 * little-endian, and at most FRAME_PAYLOAD bytes.
 *
 * Between hosts a tag follows: a MAC, with a key of this connection and direction, over the frame's number, its
 * header and its payload.  It is checked before anything else of the frame is used, except the length.  Between
 * processes of one host there are no tags: only the administrator can interfere there, and can read the key anyway.
 *
 * Requests go from a queue pair's send queue to the peer's responder; answers come back on the same connection.  A
 * message longer than a frame is several frames in order; `offset` and `total` say which part a frame is.
 * RC: `seq` counts a queue pair's messages (24 bits, begins at sq_psn).  `attempt` changes whenever the requester
 * starts again from some message, so that it recognizes answers to what it sent before.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FRAME_VERSION = 2,
	FRAME_PAYLOAD = 256 << 10,
	FRAME_ATOMIC_OPERANDS = 16, /* bytes: compare or add, swap */
	FRAME_MTU = 4096,           /* of a datagram */
	FRAME_NUMBERS = 0xffffff,   /* queue pair numbers and seq have 24 bits */
	FRAME_KEY = 16,
	FRAME_TAG = 8,
};
#define FRAME_MESSAGE_MAX 0x80000000u /* bytes */

enum frame_op {
	FRAME_SEND = 1,
	FRAME_WRITE,
	FRAME_READ,      /* total: bytes to read; no payload */
	FRAME_CMP_SWAP,  /* payload: compare, swap */
	FRAME_FETCH_ADD, /* payload: add, 0 */
	FRAME_DATAGRAM,
	FRAME_MULTICAST, /* a datagram; addr, rkey, seq and attempt: the group (mcast.h); code: the sender's GID index */
	FRAME_ACK = 32,  /* of this message and all before it, except READs and atomics, which have their own answers */
	FRAME_NAK,       /* code: enum frame_nak */
	FRAME_RNR,       /* no receive was posted; code: min_rnr_timer */
	FRAME_DROPPED,   /* no such queue pair, or an unexpected seq; from hardware, silence until a timeout */
	FRAME_READ_DATA,
	FRAME_ATOMIC_DATA, /* addr: the old value */
	FRAME_CM = 64,     /* connection management (cm.h) */
};

enum frame_flags {
	FRAME_SOLICITED = 1,
	FRAME_IMM = 2,        /* extra: immediate data, in the program's byte order */
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
	/* bytes of the message; offset of this part; bytes of this part, which follow */
	uint32_t total, offset, length;
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

/* Whether each field is in its range and consistent with the others.  Requester and responder check what the fields
 * refer to. */
bool frame_valid(const struct frame *f);
/* Tag of frame `number` of a direction of a connection; `frame`: header and payload as sent. */
uint64_t frame_tag(const uint8_t *key, uint64_t number, const uint8_t *frame, size_t len);
