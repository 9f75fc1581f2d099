/* The bytes that a log of the order only names by their hash: `payload` beside the log, there once the recording has been
 * expanded (expand.h), one after the other as the notes' offsets say. */
#ifndef RDB_PAYLOAD_H
#define RDB_PAYLOAD_H
#include <stddef.h>
#include <stdint.h>
#include "crossing/host.h"
#include "log/log_format.h"

#define PAYLOAD_FILE "payload"

/* The payload that a part of a record names, or NULL. */
const struct rdb_note_payload *payload_of(const struct log_chunk *c);
/* Brings it to its address.  NULL, or why it cannot be. */
const char *payload_apply(const struct rdb_note_payload *note);

/* Making the file: bytes are taken from their addresses.  Until payload_publish() it has another name. */
int payload_create(const char *dir);
/* -EBADMSG: the bytes there are not those that were recorded; else 0 or -errno. */
int payload_append(const struct rdb_note_payload *note);
int payload_publish(void);

#endif
