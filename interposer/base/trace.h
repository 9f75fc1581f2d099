/* Traces of rdb's own work, for its developers: RDB_TRACE=event,mpi,verbs (rdb/trace.py has the other topics). Lines go
 * to stderr, or are appended to RDB_TRACE_FILE. */
#pragma once

enum { TRACE_EVENT = 1, TRACE_MPI = 2, TRACE_VERBS = 4 };

/* The chosen topics, as bits. */
extern unsigned trace_topics;

/* Call once, when descriptors can be made. If RDB_TRACE_FILE cannot be opened, warns and uses stderr. */
void trace_init(void);
/* Async-signal-safe. */
void trace_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
