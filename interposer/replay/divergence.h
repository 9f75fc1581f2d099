/* Where a replay diverged: what `--verify` reports besides the reason. */
#pragma once
#include <stddef.h>
#include "crossing/boundary.h"
#include "log/log_reader.h"

/* An event begins: notes where the program stands, for a report. uc: context of the system call; NULL in a
 * hypercall. */
void divergence_crossing(const ucontext_t *uc);
/* Describes a span that the program hands out and that is not as recorded. */
void divergence_sent(const struct event *ev, const struct rdb_note_sent *span, char *out, size_t size);
/* Does the span begin or end in text, which may hold our patches? */
bool divergence_in_text(const struct rdb_note_sent *span);
/* A hash record is passed, or about to be compared: keeps its hashes of single pages. */
void divergence_hash(const struct log_record *rec);
/* Memory differs from that hash: finds the page. */
void divergence_in_memory(void);
/* End of the message when nothing that was seen explains the divergence: what to do next. */
const char *divergence_unknown(void);
/* The rest of the JSON object, of at most `size` bytes: event, page, place.  Returns its length. */
size_t divergence_json(uint64_t event, char *out, size_t size);
