/* The journal: MPI state at the beginning of a branch, which is not in its log, for restarts of the branch.
 *
 * It has the calls that made the objects, with their inputs and outputs; pending operations; and messages that were
 * under way and were sent again.  `mpi-begun` has as text what readers of the branch's log need.
 */
#pragma once
#include "lower/restart/restart.h"
#include <stdio.h>

#define JOURNAL_MAGIC 0x35696e6d62647200ull
#define PARTS 8
#define JOURNAL_GIVEN 0xffffffffu /* index of an entry that is an object of restart_made.c, not a call */
#define JOURNAL_SENT 0xfffffffeu  /* index of an entry that is a sent message; args[0]: its number */
#define LARGEST (1 << 22)         /* bytes that one argument may point to */

enum journal_tag { CALL = 1, PENDING, MESSAGE, WINDOW, END, TIME };

/* Memory that an argument points to, before and after the call. */
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
	struct vcomm *held; /* the communicator, which the program may have freed since */
	struct entry *entry;
};

struct saved {
	uint32_t kind, id, cancelled, looked, complete, lost;
	int32_t count, source, tag;
	uint32_t type, comm, index, nargs, nheld;
	uint32_t started, parts; /* partitioned: parts + 1 bytes follow */
	uint32_t file, flight;   /* flight: so many bytes of flight_put() follow */
	int64_t bytes;
	uint64_t buf, args[TRANSLATION_ARGUMENTS];
	uint32_t held[PENDING_HANDLES][2];
	char name[64];
};

extern struct journal {
	struct entry *first, **last, *now;
	bool gives; /* the current call is one of restart_made.c: */
	unsigned giver;
	uint64_t given[TRANSLATION_ARGUMENTS]; /* its index and arguments */
	struct message *messages, **last_message;
	struct message *old; /* messages that were under way when the branch began */
} journal;

/* bytes + 1 zeroed bytes; ends the process if there is no memory. */
void *journal_room(size_t bytes);
/* Opens a file of a branch's directory: new, for writing, or for reading.  NULL: it cannot be opened. */
FILE *journal_open(const char *folder, const char *name, bool new);

/* restart_made.c: whether a call gives objects that belong to a file or a window; makes an entry for each; makes the
 * object of such an entry again. */
bool journal_gives(unsigned index);
void journal_given(unsigned index, const uint64_t *a);
const char *journal_give(const struct entry *one);

struct bytes;
/* restart_files_begun.c: saves data of a read under way.  False: its datatype was freed.  Loads it; *lost: the same. */
bool flight_put(struct bytes *out, const struct staged_read *flight);
struct staged_read *flight_get(struct bytes *in, bool *lost);
