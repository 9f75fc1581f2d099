/* Files that a recorded call is about to change for good: their contents are kept beside the log, for restarts from
 * before the call (rdb/live/files/files_before.py).  Appended data and new files need no copy.  Nor does what this
 * process has written itself: its replay writes it again.
 *
 * Without a log the same is kept after a checkpoint (answer/undo.h). */
#pragma once
#include "crossing/event.h"

enum { KEPT_TEXT = 3 * 1024 };

/* State of one call. */
struct kept {
	bool any;
	size_t len;
	/* without a log: */
	bool spent;   /* the content is not older than the checkpoint */
	bool appends; /* a file is opened to append to it, and may have been older; the note has its path and its size */
	bool kept;    /* it is a file with content, or an empty one */
	bool alone;   /* it has no other name */
	uint64_t dev, ino;
	uint32_t seq; /* of the record; 0: none */
	struct {
		struct rdb_note_was head;
		char text[KEPT_TEXT];
	} note;
};

/* For a file of the program, not of a recording: its path without links in `full`, and its real place in `place` (a
 * branch may have a copy of its own), each of 4096 bytes.  Without a path: the file of the descriptor `dir`.  False: no
 * such file, or one that its process makes again. */
bool kept_name_of(int dir, const char *path, bool follow, char *full, char *place);
void kept_before(const struct event *ev, struct kept *k);
/* Without a log: the same for a library, which is about to open the file for writing, or to delete it.  True: there is no
 * such file yet. */
bool kept_by_library(const char *path, bool deletes);
/* Call when the call has its answer. */
void kept_after(struct event *ev, struct kept *k);
