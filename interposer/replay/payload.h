/* The file `payload` beside the log: the bytes that a log of the order names only by their hash.  It is there once the
 * recording has been expanded (expand.h).  The notes have the offsets. */
#ifndef RDB_PAYLOAD_H
#define RDB_PAYLOAD_H
#include <stddef.h>
#include <stdint.h>
#include "interface/host.h"
#include "interface/log_format.h"

#define PAYLOAD_FILE "payload"

/* The payload that a part of a record names, or NULL. */
const struct rdb_note_payload *payload_of(const struct log_chunk *c);
/* Reads the payload to its address.  NULL, or why that failed. */
const char *payload_apply(const struct rdb_note_payload *note);

/* Writing the file: the bytes are taken from their addresses.  Until payload_publish() it has another name. */
int payload_create(const char *dir);
/* -EBADMSG: the bytes there are not those that were recorded; else 0 or -errno. */
int payload_append(const struct rdb_note_payload *note);
int payload_publish(void);

#endif
