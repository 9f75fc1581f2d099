/* Signals that the program has sent to itself before a cut: those not delivered yet arrive after it. */
#pragma once
#include "crossing/event.h"

/* A system call that the log has answered. */
void sent_signals_syscall(const struct event *ev);
/* The log delivers a signal to the present thread. */
void sent_signals_delivered(int sig);
/* At the cut: writes them down, for restarts of the branch; makes them pending. */
void sent_signals_save(void);
void sent_signals_restore(void);
/* At the start of a recording, before it hears signals: writes down those that wait since the program before. */
void sent_signals_left(void);
