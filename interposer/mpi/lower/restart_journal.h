/* Between the files of the journal: what a branch began with in MPI, for
 * restarts of that branch, whose log does not say how it came to be.
 *
 * The calls that made what there was, with what they were given and what came
 * out; what was pending; and the messages that were under way, which left again
 * from here.  `mpi-begun` says in words what readers of the branch's log need.
 */
#ifndef RDB_MPI_RESTART_JOURNAL_H
#define RDB_MPI_RESTART_JOURNAL_H
#include "restart.h"
#include <stdio.h>

#define JOURNAL_MAGIC 0x35696e6d62647200ull
#define PARTS 8
#define JOURNAL_GIVEN 0xffffffffu /* the index of an entry that is no call */
#define JOURNAL_SENT 0xfffffffeu  /* a message left: args[0] says which */
#define LARGEST (1 << 22)         /* bytes that one argument may point to */

enum journal_tag { CALL = 1, PENDING, MESSAGE, WINDOW, END };

/* What an argument pointed to. */
struct part {
	uint32_t place, len;
	char *before, *after;
};

struct entry {
	struct entry *next;
	uint32_t index, nargs, nparts;
	uint64_t args[TRANSLATION_ARGUMENTS];
	struct part parts[PARTS];
};

struct message {
	struct message *next;
	int dest, tag; /* canonical */
	uint32_t comm, len;
	char *packed;
	struct vcomm *held; /* even if the program has freed it since */
	struct entry *entry;
};

struct saved {
	uint32_t kind, id, cancelled, looked, complete, lost;
	int32_t count, source, tag;
	uint32_t type, comm, index, nargs, nheld;
	uint32_t started, parts; /* so many bytes follow */
	uint32_t file, flight;   /* what it reads of a file: so many bytes follow (restart_files_begun.c) */
	int64_t bytes;
	uint64_t buf, args[TRANSLATION_ARGUMENTS];
	uint32_t held[PENDING_HANDLES][2];
	char name[64];
};

extern struct journal {
	struct entry *first, **last, *now;
	bool gives; /* the present call, which is one of restart_made.c */
	unsigned giver;
	uint64_t given[TRANSLATION_ARGUMENTS]; /* its arguments */
	struct message *messages, **last_message;
	struct message *old; /* that were under way when a branch began */
} journal;

/* A call has the journal's next place. */
void journal_add(struct entry *one);
/* Memory, zero, and a byte more; or the end. */
void *journal_room(size_t bytes);
/* A file of a branch's directory: a new one to write, or to read.  NULL: it
 * cannot be opened. */
FILE *journal_open(const char *folder, const char *name, bool new);

/* restart_made.c: does the call give what belongs to a file or a window?  An entry for each that it has given; and again. */
bool journal_gives(unsigned index);
void journal_given(unsigned index, const uint64_t *a);
const char *journal_give(const struct entry *one);

struct bytes;
/* restart_files_begun.c: what a read brings that has been begun.  False: its datatype is gone. */
bool flight_put(struct bytes *out, const struct inflight *flight);
struct inflight *flight_get(struct bytes *in, bool *lost);

#endif
