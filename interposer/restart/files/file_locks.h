/* Locks that the program has on files (flock(2), fcntl(2)) while a replay leads to a cut: taken again there. */
#pragma once
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

/* For a checkpoint without a log: what the kernel says of a lock (proc(5), fdinfo), by the index of the open file, and
 * what a restart reads of it. */
struct saved_lock {
	uint32_t opened;
	uint16_t kind, type;
	uint64_t start, end;
};
/* False: it is no lock, but a lease. */
bool file_locks_read(const char *line, struct saved_lock *out);
void file_locks_from(const struct saved_lock *list, unsigned n);
