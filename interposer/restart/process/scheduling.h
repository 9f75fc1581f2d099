/* Processors, policies and priorities that a program has asked for: followed on the way to a cut, and asked for again
 * there. */
#pragma once
#include "crossing/event.h"
#include "base/table.h"

/* A system call that succeeded in the recording. */
void scheduling_syscall(const struct event *ev);
/* Writes them down for restarts of the branch; asks for them again when the threads exist.  Warns of what this machine
 * does not allow. */
void scheduling_save(void);
void scheduling_restore(void);

/* Without a log.  scheduling_begin(): notes what the launcher has given the process; scheduling_hand_on(),
 * scheduling_inherit(): its next program has that from the one before.  scheduling_look(): what its threads have that
 * differs (0 or -errno).  scheduling_from(): in a restart, takes what scheduling_restore() is to ask for; false: it is
 * damaged. */
void scheduling_begin(void);
bool scheduling_hand_on(int fd);
bool scheduling_inherit(int fd);
int scheduling_look(struct table *out);
/* Of a recording, after scheduling_inherit(): writes down for its restarts what differs. */
void scheduling_left(void);
bool scheduling_from(const void *bytes, size_t len);
