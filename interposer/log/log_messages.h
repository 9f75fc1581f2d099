/* Reads what a log says of communication, and nothing else: for rdb.recording, as part of librdblog.so. */
#pragma once
#include "log/log_reader.h"

enum log_message_what {
	LOG_MESSAGE_RECV = 1,      /* a receive was completed */
	LOG_MESSAGE_SEND = 2,      /* a send was posted */
	LOG_MESSAGE_CALL = 3,      /* a call that the table asks for: a collective */
	LOG_MESSAGE_POSTED = 4,    /* a call that the table asks for: a nonblocking receive was posted */
	LOG_MESSAGE_DONE = 6,      /* a nonblocking collective is complete */
	LOG_MESSAGE_STARTED = 7,   /* a persistent receive: that of the newest LOG_MESSAGE_PREPARED with its request */
	LOG_MESSAGE_PREPARED = 8,  /* a call that the table asks for: a persistent receive was made */
	LOG_MESSAGE_CANCELLED = 9, /* the newest receive of that request was cancelled; order 0: MPI_Cancel */
	LOG_MESSAGE_MATCHED = 10,  /* a call that the table asks for: it has matched a message, which is `request` */
	LOG_MESSAGE_FREED = 11,    /* a window, communicator or file, which is `request` */
	LOG_MESSAGE_MADE = 12,     /* a call that the table asks for: it made a request that is none of the above */
	LOG_MESSAGE_MET = 13,      /* a call that the table asks for: ranks met there, and it is no collective above */
	LOG_MESSAGE_PROBED = 14,   /* a probe has found a message, which may have been matched before */
	LOG_MESSAGE_TEXT = 5,      /* a text note: `address` is its offset in segment `order`, `bytes` its length */
};

struct log_message {
	uint64_t event, at_ns;
	uint64_t bytes, order, address;
	int32_t peer; /* of a send or receive: rank in MPI_COMM_WORLD; of a call: the argument */
	int32_t tag;
	uint32_t comm, request;
	uint32_t nr; /* of the hypercall */
	uint32_t what;
};

/* Which calls are wanted, by the low 16 bits of their number: places of arguments, -1: none. */
struct log_wanted {
	uint8_t what; /* 0: not wanted */
	int8_t comm, peer, tag, request, size;
};

/* A message whose bytes are not in the receiver's log, or are in the sender's. */
struct log_payload {
	uint64_t event;
	uint64_t at;     /* struct rdb_note_payload; of a sender: 0 */
	uint64_t offset; /* the same; of a sender: offset in the segment */
	uint64_t order;  /* number of the receive; of a sender: number of the send among all of its log, from 0 */
	uint32_t len, check;
	int32_t peer, tag;
	uint32_t comm, segment; /* comm: of a sender 0 */
};

/* All of a rank's log, in order; events that are repeated come as often as they happened.  *found is
 * malloc'ed: log_messages_free().  Returns as log_index() does. */
LOG_API int log_messages(const char *dir, uint32_t name_space, const struct log_wanted *wanted, size_t wanted_count,
			 struct log_message **found, size_t *count, char *error);
LOG_API void log_messages_free(struct log_message *found);
/* The same for payloads; *found is freed by log_payloads_free(). */
LOG_API int log_payloads(const char *dir, struct log_payload **found, size_t *count, char *error);
LOG_API void log_payloads_free(struct log_payload *found);
