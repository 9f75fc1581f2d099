/* Kinds of shared memory, and the events that matter to it. */
#pragma once
#include "log/parts.h"

enum shared_kind {
	SHARED_ANONYMOUS, /* shared with children */
	SHARED_NAMELESS,  /* memfd, unlinked file: shared with children and with receivers of the descriptor */
	SHARED_NAMED,     /* in /dev/shm: shared with all that know the name, which is its purpose */
	SHARED_SYSV,      /* shared with all that know the id */
	SHARED_FILE,      /* another file: normally used by the program alone */
	SHARED_KINDS
};

/* The kind of memory that a file gives. */
int shared_kind_of(int fd);
/* Can the contents of the file change while it is mapped?  Not if it is an ordinary file on disk that the program can
 * only read.  If so, a MAP_SHARED mapping must really be shared. */
bool shared_volatile(int fd);
int shared_kind_at(uint64_t addr);
/* Can the contents have changed after this event? `contested`: for memory that others write: after any call that may
 * wait for them; else after calls that write to files. */
bool shared_call_synchronises(const struct event *ev, bool contested);
/* Does the event change the memory map?  Then addresses after it mean something else than before. */
bool shared_call_changes_map(const struct event *ev);
struct cut_file {
	int dir;
	const char *path; /* NULL: dir is the file itself */
};
/* Does the call truncate a file, or move its contents? Then private mappings lose what the program has stored
 * there. */
bool shared_call_cuts(const struct event *ev, struct cut_file *file);
/* Does the call discard what the program has stored in private file mappings in [start, end)? */
bool shared_call_drops_pages(const struct event *ev, uint64_t start, uint64_t end);
/* The descriptor of the file that the call has written to; -1: none. */
int shared_call_wrote(const struct event *ev);
/* The descriptor that a call, not answered yet, will write to; -1: none. */
int shared_call_writes_to(const struct event *ev);
/* The part of the file `descriptor` that the call writes to; the whole file if only the kernel knows. */
struct file_part {
	uint64_t from, to;
};
struct file_part shared_call_part(const struct event *ev, int descriptor);
/* Does the call send or receive a descriptor of a file without a name? */
bool shared_call_gives_away(const struct event *ev);
