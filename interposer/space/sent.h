/* Outputs: bytes of memory that the program hands to the world with an event.
 *
 * While recording, the code that knows which memory a call reads says so before the call (event_sent()), and the
 * event's record gets a span: address, length, CRC-32C.  A replay has the same memory byte for byte, so it needs
 * neither tables nor MPI: when the program asks, it checks the record's spans in its own memory before the answer is
 * applied.  A difference is a divergence at that event.  The outputs of a question that was pending at a checkpoint
 * cannot be checked in a replay that begins there: only the arguments are compared.
 *
 * Of spans above SENT_WHOLE only a sample is checked, unless the recording was made with --check=full: one cache line
 * in every N, with N at most SENT_APART, so that each page has one.  The span's phase chooses the lines.  It changes
 * with the event number, so that in the end all lines are checked.
 *
 * MPI datatypes with gaps are checked by their blocks; equally spaced blocks are one span with one CRC.  Of more than
 * SENT_BLOCKS blocks and SENT_WHOLE bytes a sample is checked, too: one block in every N.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "interface/host.h"

enum { SENT_WHOLE = 64 << 10, SENT_SAMPLE = 16 << 10, SENT_LINE = 64, SENT_APART = 64, SENT_BLOCKS = 1024 };

/* Computes the check of a span whose address, phase and length are set.  False: not all of it can be read; then `len`
 * becomes the readable length from its start, or 0 for several blocks. */
bool sent_check(struct rdb_note_sent *span);

static inline uint64_t sent_address(const struct rdb_note_sent *span)
{
	return span->at & RDB_SENT_ADDRESS;
}

/* Number of blocks. */
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
