/* What the upper half's libibverbs asks the lower half: hypercalls of RDB_NS_VERBS.
 *
 * Objects are named by ids, which are never used twice in a process.  Arguments are 64-bit values, in the order of
 * the comments in calls.def; "-> id" is the result, and a failure is -errno.  An argument whose name ends in * is the
 * upper address of a struct of <infiniband/verbs.h> or of a struct below; pointers inside these structs are ignored.
 * `cookie` is the address of the program's own object; events give it back.  rdb/recording/verbs/objects.py reads the
 * same calls from a log.
 */
#pragma once
#include <stdint.h>
#include "interface/gate.h"

enum verbs_call {
	VERBS_NONE,
#define CALL(number, function, name) VERBS_##number,
#include "calls.def"
#undef CALL
	VERBS_CALLS,
};

struct verbs_opened {
	int32_t async_fd;
	int32_t comp_vectors;
	uint64_t device_memory; /* bytes; 0: none */
	uint64_t clock_khz;     /* of completions' time stamps; 0: there are none */
};

struct verbs_keys {
	uint32_t lkey, rkey;
};

/* When a completion was queued: the device's clock, and the time of day in ns. */
struct verbs_stamp {
	uint64_t clock, wall;
};

struct verbs_event {
	uint64_t object; /* cookie, or port number */
	uint32_t type;   /* enum ibv_event_type */
	uint32_t reserved;
};

/* Result of a failed post: the error and the index of the failed request in the list. */
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

/* RDB_NOTE_VERBS of a post: one for each accepted request. */
struct verbs_note_post {
	uint64_t wr_id;
	uint64_t bytes;
	uint32_t opcode; /* enum ibv_wr_opcode; 0xffffffff for a receive */
	uint32_t flags;  /* enum ibv_send_flags */
	uint64_t from;   /* address of the bytes if they are contiguous, else 0 */
};

/* RDB_NOTE_COMPLETED: a completion that was queued; `wc` is a struct ibv_wc. */
struct verbs_note_completed {
	uint8_t received, solicited, reserved[2];
	uint32_t request; /* number of the send request, from 0 since RESET */
	uint8_t wc[48];
};

/* RDB_NOTE_TAKEN: a message of a peer that this side has carried out completely. */
struct verbs_note_taken {
	uint32_t source, dest, number, reserved;
	uint64_t was; /* the old value, for an atomic */
};

/* RDB_NOTE_ASYNC: an asynchronous event that the program can fetch from now on.  Context and object are ids. */
struct verbs_note_async {
	uint32_t context, type, object;
};

/* RDB_NOTE_ARRIVAL: struct verbs_arrival (provider.h). */
struct verbs_note_arrival {
	uint64_t addr, len;
	uint32_t source, dest, number, offset;
};
