/* Who the process is for the kernel, and what it sees of the machine: users, groups and capabilities (credentials(7)),
 * root directory, namespaces, keyrings of its own.  A restart has what its launcher gives, so a program that has changed
 * one of these has no checkpoint. */
#pragma once
#include "crossing/event.h"

/* Without a log: notes what the launcher has given the process.  Its next program has that from the one before. */
void identity_begin(void);
bool identity_hand_on(int fd);
bool identity_inherit(int fd);
/* A system call that succeeded. */
void identity_syscall(const struct event *ev);
/* Why there can be no checkpoint, or NULL. */
const char *identity_refuses(void);
