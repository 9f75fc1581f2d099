/* What a program has asked for its own process, by prctl(2) and setrlimit(2): followed on the way to a cut, and asked
 * for again there. */
#pragma once
#include "base/table.h"
#include <stdbool.h>
#include "crossing/event.h"

/* Before the log is replayed. */
void attributes_begin(void);
void attributes_syscall(const struct event *ev);
/* Makes the session and the process group that it had made itself. */
void attributes_relations(void);
/* In a child: keeps the limits of its parent, and what is inherited. */
void attributes_in_child(void);
/* Passes them on to the next program of the process.  False: errno says why. */
bool attributes_hand_on(int fd);
bool attributes_inherit(int fd);
/* Of a recording: notes what the launcher has given the process; writes down what a later program has that differs. */
void attributes_given(void);
void attributes_left(void);
/* At the cut: writes them down for restarts of the branch; asks for them again. */
void attributes_save(void);
void attributes_restore(void);

/* For checkpoints without a log: what attributes_syscall() has followed; 0 or -errno.  False: it is damaged. */
int attributes_look(struct table *out);
bool attributes_from(const void *bytes, uint64_t len);
