/* One event in the making: what it was, and which bytes its answer put into upper memory. */
#ifndef RDB_EVENT_H
#define RDB_EVENT_H
#include "base/lower.h"

struct event_chunk {
	uint64_t addr; /* 0: a note */
	const void *data;
	uint32_t len;
	uint32_t note;
};

struct event {
	uint16_t kind;
	uint16_t nargs;
	uint32_t nr;
	uint64_t args[RDB_MAX_ARGS];
	int64_t result;
	bool emulated;             /* a system call that a replay carries out again, after its chunks */
	uint64_t begun;            /* stamp_begin(), of a call of a plug-in; 0: not known */
	uint64_t waited_ns;        /* struct thread, waited_ns */
	uint64_t done;             /* struct thread, done */
	uint64_t asked_ns;         /* where there is shared memory: CLOCK_REALTIME then */
	unsigned nsent, sent_room; /* what the program hands out (sent.h) */
	struct rdb_note_sent *sent;
	bool sent_logged; /* already: other records come first */
	unsigned nchunks, chunk_cap;
	struct event_chunk *chunks;
	unsigned notes_used, more_used, more_room;
	char *more;       /* notes beyond notes[]: an MPI_Waitall of thousands of receives */
	char notes[4096]; /* copies of note data */
};

/* The events under way are a stack (an upcall nests); event_begin() gives a fresh one. */
struct event *event_begin(enum log_kind kind, uint32_t nr, const uint64_t *args, unsigned nargs);
struct event *event_current(void);
/* These bytes of upper memory leave the program with the event (sent.h): before anything is written to upper memory.
 * Those that others may change meanwhile are left out, and what is not there. */
void event_sent(struct event *ev, const void *upper, size_t len);
/* The same of `count` elements, `extent` apart, each of which has these blocks. */
void event_sent_blocks(struct event *ev, const void *upper, int64_t count, int64_t extent,
		       const struct rdb_blocks *blocks, unsigned n);
/* Other records come before that of the present event, which the program has asked for already. */
void event_waits(void);
void event_out(struct event *ev, void *upper, size_t len);
/* Bytes that lie elsewhere and stay until the event ends: a chunk for `addr`, or (0) a note. */
void event_chunk_from(struct event *ev, uint64_t addr, enum rdb_note note, const void *data, size_t len);
/* False: in a replay its chunks are not applied, or something else is done after them. */
bool event_takes_chunks(const struct event *ev);
/* What `from` has written is part of `to`; `from` is empty afterwards. */
void event_adopt(struct event *to, struct event *from);
/* The same bytes in fewer chunks; all are still in their place.  Notes keep their order; of very many, none is kept:
 * who sent what is not known then. */
void event_compact(struct event *ev);
void event_note(struct event *ev, enum rdb_note what, const void *data, size_t len);
/* Record: numbers and logs it.  In every mode: takes it off the stack. */
void event_end(struct event *ev);
/* Record: numbers and logs one that was not begun here, and has no chunks. */
void event_logged(const struct event *ev);
/* Logs a record that is a kind and the present event's number. */
void event_mark(enum log_kind kind);
/* The same of one with arguments. */
void event_beside(enum log_kind kind, const uint64_t *args, unsigned n);
/* Logs that checkpoint `number` is of the present event, and how long the program stood still for it. */
void event_checkpoint(uint32_t number, uint64_t stop_ns);
/* Logs the hash of the upper half. */
void event_hash(enum log_hash_when when);
void event_hash_if_due(void);
/* After the answer and its effects are complete, in every mode. */
void event_answered(ucontext_t *uc);

#endif
