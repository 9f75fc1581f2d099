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
/* In a child, which has none; over execve(2), where those of the process and of the calling thread stay. */
void sent_signals_in_child(void);
bool sent_signals_hand_on(int fd);
bool sent_signals_inherit(int fd);
