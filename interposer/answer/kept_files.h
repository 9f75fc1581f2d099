/* Files that a recorded call is about to change for good: what was there goes beside the log, for restarts from before it
 * (rdb/live/files/files_before.py).  What is appended or new needs no copy, nor what this process has written itself: its replay
 * has that. */
#ifndef RDB_KEPT_FILES_H
#define RDB_KEPT_FILES_H
#include "crossing/event.h"

enum { KEPT_TEXT = 3 * 1024 };

/* Of one call. */
struct kept {
	bool any;
	size_t len;
	struct {
		struct rdb_note_was head;
		char text[KEPT_TEXT];
	} note;
};

/* Of a file that is of the program's and not of a recording: its name without links, and where that is (in a branch, also its
 * own), each of 4096 bytes; without a path that of a descriptor.  False: it is none, or one that its process makes again. */
bool kept_name_of(int dir, const char *path, bool follow, char *full, char *place);
void kept_before(const struct event *ev, struct kept *k);
/* It has its answer. */
void kept_after(struct event *ev, struct kept *k);

#endif
