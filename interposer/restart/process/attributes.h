/* What a program has asked for its own process, by prctl(2) and setrlimit(2): followed on the way to a cut, and asked
 * for again there. */
#pragma once
#include "base/table.h"
#include <stdbool.h>
#include "crossing/event.h"

/* In a tree, before the log is replayed. */
void attributes_begin(void);
void attributes_syscall(const struct event *ev);
/* Has it made its session, its process group? */
bool attributes_session(void);
bool attributes_group(void);
/* In a child: keeps the limits of its parent, and what is inherited. */
void attributes_in_child(void);
/* Passes them on to the next program of the process.  False: errno says why. */
bool attributes_hand_on(int fd);
bool attributes_inherit(int fd);
/* At the cut: writes them down for restarts of the branch; asks for them again. */
void attributes_save(void);
void attributes_restore(void);

/* For checkpoints without a log: what attributes_syscall() has followed; 0 or -errno.  False: it is damaged. */
int attributes_look(struct table *out);
bool attributes_from(const void *bytes, uint64_t len);
