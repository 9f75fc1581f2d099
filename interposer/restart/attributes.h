/* What a program has asked for of its own process, by prctl(2) and setrlimit(2): followed on the way to a cut, and asked for
 * again there. */
#ifndef RDB_ATTRIBUTES_H
#define RDB_ATTRIBUTES_H
#include <stdbool.h>
#include "crossing/event.h"

/* Before anything of the log, in a tree. */
void attributes_begin(void);
void attributes_syscall(const struct event *ev);
/* A child has the limits of its parent, and nothing else. */
void attributes_in_child(void);
/* To the next program of the process.  False: errno says why. */
bool attributes_hand_on(int fd);
bool attributes_inherit(int fd);
/* At the cut; of a branch what it began with. */
void attributes_save(void);
void attributes_restore(void);

#endif
