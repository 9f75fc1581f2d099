/* The life of an event: from the question to the log. */
#pragma once
#include "log/parts.h"

/* The events under way are a stack (an upcall nests); event_begin() gives a fresh one. */
struct event *event_begin(enum log_kind kind, uint32_t nr, const uint64_t *args, unsigned nargs);
struct event *event_current(void);
/* These bytes of upper memory leave the program with the event (sent.h).  Call it before the event writes to upper
 * memory.  Leaves out bytes that others may change meanwhile, or that are not mapped. */
void event_sent(struct event *ev, const void *upper, size_t len);
/* The same of `count` elements, `extent` apart, each of which has these blocks. */
void event_sent_blocks(struct event *ev, const void *upper, int64_t count, int64_t extent,
		       const struct rdb_blocks *blocks, unsigned n);
/* The program has asked for the present event, but other records will come before its own: logs what it hands out. */
void event_waits(void);
/* Record: numbers and logs it.  In every mode: takes it off the stack. */
void event_end(struct event *ev);
/* Record: numbers and logs an event that event_begin() did not make. */
void event_logged(const struct event *ev);
/* Logs a record with nothing but a kind and the present event's number. */
void event_mark(enum log_kind kind);
/* Logs LOG_ENDS. */
void event_end_of_file(const uint64_t range[2]);
/* Logs that checkpoint `number` is of the present event, and how long the program stood still for it. */
void event_checkpoint(uint32_t number, uint64_t stop_ns);
/* Logs the hash of the upper half. */
void event_hash(enum log_hash_when when);
void event_hash_if_due(void);
/* After the answer and its effects are complete, in every mode. */
void event_answered(ucontext_t *uc);
