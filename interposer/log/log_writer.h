/* Writing the log of this rank (log_format.h). */
#pragma once
#include "log/parts.h"

/* Creates segment 0 in dir.  0 or -errno. */
int log_open(const char *dir);
/* In a child after fork: leaves the parent's log alone and starts one in dir. */
int log_reopen(const char *dir);
/* Appends one record.  0, or -errno (disk full; EDQUOT: --log-budget is spent): then nothing was appended, and the
 * caller closes the log with an END record in the space kept for it. */
int log_append(const struct event *ev, uint64_t event_number);
/* If the last record was large: has the kernel find some memory for the next one, which costs more than to write it.
 * False: there is enough. */
bool log_ahead(void);
/* Where the next record will go, for images. */
void log_position(uint32_t *segment, uint64_t *off);
/* Bytes written so far, over all segments. */
uint64_t log_written(void);
/* Writes END and trims the segment. */
void log_end(enum log_end how, int64_t value, const char *text);
