/* Makes the payloads of a recording of the order (crossing/order.h).  All ranks are replayed together, each from its
 * own log, and the plug-ins exchange the messages once more, as the logs say which receive got which message (host.h,
 * enum rdb_expand).  What arrives is compared with the hashes in the log and written to a file; from then on each rank
 * is replayed alone. */
#pragma once
#include "crossing/event.h"

/* 0 or -errno. */
int expand_begin(void);
/* A call through the gate, before and after the log has answered it. */
void expand_asked(const struct event *ev);
void expand_answered(const struct event *ev);
/* The log has no more payloads: publishes the file. */
void expand_whole(void);
/* The recording is at its end, or (what) the replay cannot go on. */
void expand_end(const char *what) __attribute__((noreturn));
/* expand_ahead.c: what becomes of the `order`-th receive. */
enum rdb_fate expand_fate(uint64_t order, struct rdb_note_recv *out);
bool expand_comes(uint64_t order, int peer, int tag, uint32_t comm);
bool expand_agrees(const void *upper, size_t len);

/* expand_waits.c: a rank that has waited for others for a while says so in the file `expanding` of its folder. */
int expand_waits_begin(void);
void expand_waits(enum rdb_wait what, int peer, int tag);
void expand_looked(void);
/* Event of the waits that follow. */
void expand_waits_at(uint64_t event);
/* The rank's log is over.  `asks`: it makes a call to which the log has no answer and which other ranks may need. */
void expand_waits_ended(bool asks);
