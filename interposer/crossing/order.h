/* --record=order: what came in messages is not in the log.  Each part of it is a note with its length and hash, and all
 * ranks together make the bytes again later (replay/expand.h), into a file beside the log. */
#ifndef RDB_ORDER_H
#define RDB_ORDER_H
#include "crossing/event.h"

/* As event_out(), of a message's bytes. */
void order_payload(struct event *ev, void *upper, size_t len);

#endif
