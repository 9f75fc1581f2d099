/* --deliver LIST: a replay of a rank that hands messages which it sends to the recordings of their receivers
 * (--record=lean).  At the event of a send its memory has the bytes.
 *
 * Several ranks run so side by side, and each may need messages of the others.  A rank that has come to a receive waits
 * until its message is there.  The ranks that run, and how far, are chosen so that each message that one of them needs
 * is sent by another (rdb/live/expand/senders.py).  A message is sent before it is received, but with several threads
 * not always at an earlier event: a call that sends may have begun before the events of other threads that the log has
 * before its own.  So a rank that begins to wait also delivers what its other threads have ready for their next sends.
 * Then one of the ranks can always go on.  If it turns out otherwise, all wait: each counts its looks, and whoever
 * started them sees that nobody has delivered anything while all have looked once more.
 *
 * LIST is text.  Line 1: SLOT PATH, the place of the rank's struct deliver_state in the file PATH.  Then a line for each
 * message, by event: EVENT THREAD FROM AT OFFSET LEN CHECK DIR; THREAD: 0: only at its event; FROM: address of its bytes,
 * 0: the first argument of a call to which the log has no answer; AT to CHECK: struct rdb_note_payload; DIR: folder of
 * the receiver. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "interface/log_format.h"

struct deliver_state {
	uint64_t delivered; /* messages so far */
	uint64_t turn;      /* odd: the rank waits; each wait begins with another number */
	uint64_t looks;     /* without success in all waits */
};

/* 0 or -errno. */
int deliver_begin(void);
/* As `taking` of struct mode. */
void deliver_taking(enum log_kind kind, uint32_t nr, const struct log_record *rec);
/* A message that was received is not there yet: waits a little. */
void deliver_awaits(void);
/* The message is there, or was at once. */
void deliver_goes_on(void);
/* Is there one to deliver to which the log has no answer? */
bool deliver_more(void);
