/* Who the process is for the kernel, and what it sees of the machine: users, groups and capabilities (credentials(7)),
 * root directory, namespaces, keyrings of its own.  A restart has what its launcher gives, so a program that has changed
 * one of these has no checkpoint. */
#pragma once
#include "crossing/event.h"

/* Notes what the launcher has given the process.  Its next program has that from the one before. */
void identity_begin(void);
bool identity_hand_on(int fd);
bool identity_inherit(int fd);
/* A system call that succeeded: does it make keyrings? */
void identity_syscall(const struct event *ev);
bool identity_has_keys(void);
/* At the start of a recording: writes down that earlier programs of the process have changed something. */
void identity_left(void);
/* Why there can be no checkpoint, or NULL. */
const char *identity_refuses(void);
