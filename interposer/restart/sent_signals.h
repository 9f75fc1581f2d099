/* Signals that the program has sent to itself, up to a cut: those that were not delivered yet arrive after it. */
#ifndef RDB_LIVE_SENT_SIGNALS_H
#define RDB_LIVE_SENT_SIGNALS_H
#include "crossing/event.h"

/* A system call that the log has answered. */
void sent_signals_syscall(const struct event *ev);
/* The present thread gets a signal, by the log. */
void sent_signals_delivered(int sig);
/* At the cut; also written down for restarts of the branch. */
void sent_signals_save(void);
void sent_signals_restore(void);

#endif
