/* The bytes that the log names only by their hash, in files beside it; the notes have the offsets.  `payload` has all of
 * them, once the recording has been expanded (expand.h, rdb/live/expand).  Before that `payload.part` has some, those
 * that its `payload.marks` names.
 *
 * Several processes may fill payload.part at once: all write the same bytes of a message to the same place, then its
 * mark, which has a checksum of all its bytes.  Whoever reads a message compares that, so that it never gets half of
 * one.  A mark is never taken back. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "interface/host.h"
#include "interface/log_format.h"

#define PAYLOAD_FILE "payload"
#define PAYLOAD_PART "payload.part"
#define PAYLOAD_MARKS "payload.marks"

/* Of each 64 KiB of payload.part the mark of the message that begins there, if there is one: none is shorter. */
enum { PAYLOAD_UNIT = 64 << 10 };
struct payload_mark {
	uint32_t check; /* crc32c_data() of the whole message */
	uint32_t made;  /* 0: it is not there; 1: it is; 2: it is, and `check` is not known */
};

/* The payload that a part of a record names, or NULL. */
const struct rdb_note_payload *payload_of(const struct log_chunk *c);
/* Its upper address. */
uint64_t payload_address(const struct rdb_note_payload *note);
/* Reads the payload to its address, if need be after it was made.  NULL, or why that failed. */
const char *payload_apply(const struct rdb_note_payload *note);
/* Adds a payload to payload.part in the folder of a rank; the bytes are at `from`.  0 or -errno; -EBADMSG: these are
 * other bytes than those that were received. */
int payload_deliver(const char *dir, const struct rdb_note_payload *note, uint64_t from);

/* Writing the file: the bytes are taken from their addresses.  Until payload_publish() it has another name. */
int payload_create(const char *dir);
/* -EBADMSG: the bytes there are not those that were recorded; else 0 or -errno. */
int payload_append(const struct rdb_note_payload *note);
int payload_publish(void);
