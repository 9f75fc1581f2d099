/* --record=order, --record=lean: the bytes of messages are not in the log.  Each part of them is a note with its length
 * and hash.  The bytes are made again later into a file beside the log, by all ranks together (replay/expand.h) or by
 * the rank that sent them (replay/deliver.h). */
#pragma once
#include "crossing/event.h"

/* Like event_out(), for the bytes of a message. */
void order_payload(struct event *ev, void *upper, size_t len);
/* Hashes the payloads at the end of the event: a part of a message may have gaps, into which other messages have
 * come. */
void order_checks(const struct event *ev);
