/* What the record of an event is made of: the event, and which bytes its answer put into upper memory. */
#pragma once
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
	uint64_t asked_ns;         /* with shared memory: CLOCK_REALTIME at the question */
	uint64_t looks_ns;         /* time before shared memory is looked at, which becomes the record's; or 0 */
	unsigned nsent, sent_room; /* what the program hands out (sent.h) */
	struct rdb_note_sent *sent;
	bool sent_logged; /* logged already, since other records come first */
	unsigned nchunks, chunk_cap;
	struct event_chunk *chunks;
	unsigned notes_used, more_used, more_room;
	char *more;       /* notes beyond notes[]: an MPI_Waitall of thousands of receives */
	char notes[4096]; /* copies of note data */
};

/* While it is recorded: these bytes of upper memory are part of the answer. */
void event_out(struct event *ev, void *upper, size_t len);
/* Bytes that lie elsewhere and stay until the event ends: a chunk for `addr`, or (0) a note. */
void event_chunk_from(struct event *ev, uint64_t addr, enum rdb_note note, const void *data, size_t len);
/* False: in a replay its chunks are not applied, or something else is done after them. */
bool event_takes_chunks(const struct event *ev);
/* What `from` has written is part of `to`; `from` is empty afterwards. */
void event_adopt(struct event *to, struct event *from);
/* The same bytes in fewer chunks; all are still in their place.  Notes keep their order.  If there are very many notes
 * all are dropped, and who sent what is not known. */
void event_compact(struct event *ev);
void event_note(struct event *ev, enum rdb_note what, const void *data, size_t len);
/* Room for one more of the parts of a list. */
void *event_more_parts(void *parts, unsigned *room, size_t size);
