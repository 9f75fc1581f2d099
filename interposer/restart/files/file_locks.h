/* Locks that the program has on files (flock(2), fcntl(2)) while a replay leads to a cut: taken again there. */
#ifndef RDB_FILE_LOCKS_H
#define RDB_FILE_LOCKS_H
#include <stdbool.h>
#include "crossing/event.h"

struct opened;

void file_locks_syscall(const struct event *ev);
/* A descriptor of f is closed; `last`: the last one. */
void file_locks_closed(const struct opened *f, bool last);
/* A child has only the locks of flock(2). */
void file_locks_in_child(void);
/* Passes the locks on to the next program of the process.  False: errno says why. */
bool file_locks_hand_on(int fd);
bool file_locks_inherit(int fd);
/* Loads the locks that a branch began with. */
void file_locks_load(void);
/* At the cut, when all is open under its number. */
void file_locks_restore(void);

#endif
