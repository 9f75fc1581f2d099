/* Where a replay did not do what was recorded: what `--verify` tells of it besides the reason. */
#ifndef RDB_DIVERGENCE_H
#define RDB_DIVERGENCE_H
#include <stddef.h>
#include "crossing/boundary.h"
#include "log/log_reader.h"

/* The program asks for an event: where it stands, for a report.  uc: of its system call, NULL in a
 * hypercall. */
void divergence_crossing(const ucontext_t *uc);
/* A span that the program hands out is not as it was recorded: says so, as far as it can be told. */
void divergence_sent(const struct event *ev, const struct rdb_note_sent *span, char *out, size_t size);
/* Is it text, which is not the program's alone? */
bool divergence_in_text(const struct rdb_note_sent *span);
/* A hash of the log is passed, or about to be compared: what it says of single pages. */
void divergence_hash(const struct log_record *rec);
/* Memory is not what that hash says: finds the page. */
void divergence_in_memory(void);
/* For the text where nothing that was seen explains it: what to do next. */
const char *divergence_unknown(void);
/* The rest of the JSON object, of at most `size` bytes: event, page, place.  Returns its length. */
size_t divergence_json(uint64_t event, char *out, size_t size);

#endif
