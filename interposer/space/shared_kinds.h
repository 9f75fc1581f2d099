/* Shared memory: what it is made of, and which events matter to it. */
#ifndef RDB_SHARED_KINDS_H
#define RDB_SHARED_KINDS_H
#include "log/parts.h"

enum shared_kind {
	SHARED_ANONYMOUS, /* children have it */
	SHARED_NAMELESS,  /* memfd, unlinked file: children, and who gets the descriptor */
	SHARED_NAMED,     /* in /dev/shm: who knows the name, which is what it is there for */
	SHARED_SYSV,      /* who knows the id */
	SHARED_FILE,      /* elsewhere: normally the program alone */
};

int shared_kind_at(uint64_t addr);
/* Is the event a call after which the content may be another?  `contested`: for what others write, any that
 * may wait for them; else those that write to files. */
bool shared_call_synchronises(const struct event *ev, bool contested);
/* Does it change the memory map?  Then addresses after it are not those before it. */
bool shared_call_changes_map(const struct event *ev);
struct cut_file {
	int dir;
	const char *path; /* NULL: dir is the file itself */
};
/* Does it cut a file, or move what is in it?  Private mappings lose what the program has stored there. */
bool shared_call_cuts(const struct event *ev, struct cut_file *file);
/* Does it take from private mappings of files in [start, end) what the program has stored there? */
bool shared_call_drops_pages(const struct event *ev, uint64_t start, uint64_t end);
/* The descriptor of the file that the call has written to; -1: none. */
int shared_call_wrote(const struct event *ev);
/* The same of a call that has not been answered yet: its descriptor; -1: it has none. */
int shared_call_writes_to(const struct event *ev);
/* Which part of the file DESCRIPTOR it writes to; all of it, where only the kernel knows. */
struct file_part {
	uint64_t from, to;
};
struct file_part shared_call_part(const struct event *ev, int descriptor);
/* Does it pass a descriptor of a file without a name to somebody, or get one? */
bool shared_call_gives_away(const struct event *ev);

#endif
