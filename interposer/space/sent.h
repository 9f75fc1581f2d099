/* Outputs: bytes of its memory that the program hands to the world with an event.
 *
 * While recording, whoever knows that a call reads some memory says so before the call (event_sent()), and the event's
 * record has a span for it: address, length, CRC-32C.  A replay, whose memory is the same byte for byte, needs no table
 * and no MPI to do it again: it checks the spans of the record in its own memory when the program asks, before the
 * answer is applied.  A difference is a divergence at that event.  What a thread had asked for when a checkpoint was taken
 * is in the image as it was: a replay that begins there has nothing to compare, only the call's arguments.
 *
 * Of spans above SENT_WHOLE a sample is checked, unless the recording was made with --check=full: one cache line in so
 * many, at most SENT_APART, so that there is one in each page.  Which ones is the span's phase; it goes with the event's
 * number, so that in the end all have had their turn.
 *
 * Datatypes of MPI with gaps are checked by their blocks; those that lie equally far apart are one span with one CRC.  Of
 * more than SENT_BLOCKS blocks and SENT_WHOLE bytes a sample is checked as well: one block in so many.
 */
#ifndef RDB_SENT_H
#define RDB_SENT_H
#include <stdbool.h>
#include <stddef.h>
#include "crossing/host.h"

enum { SENT_WHOLE = 64 << 10, SENT_SAMPLE = 16 << 10, SENT_LINE = 64, SENT_APART = 64, SENT_BLOCKS = 1024 };

/* Checks the memory of a span whose address, phase and length are set.  False: it is not all there to be read; then
 * `len` is how much of it is, from the beginning, or 0 of several blocks. */
bool sent_check(struct rdb_note_sent *span);

static inline uint64_t sent_address(const struct rdb_note_sent *span)
{
	return span->at & RDB_SENT_ADDRESS;
}

/* Of several blocks; 1: it is one. */
static inline uint64_t sent_count(const struct rdb_note_sent *span)
{
	return span->at & RDB_SENT_BLOCKS ? span[1].len : 1;
}

static inline uint64_t sent_end(const struct rdb_note_sent *span)
{
	return sent_address(span) + (span->at & RDB_SENT_BLOCKS ? span[1].at * (span[1].len - 1) : 0);
}

/* Phase of the sample, from 1; 0: all of it is checked. */
static inline unsigned sent_phase(const struct rdb_note_sent *span)
{
	return (unsigned)((span->at & ~RDB_SENT_BLOCKS) >> RDB_SENT_PHASE);
}

#endif
