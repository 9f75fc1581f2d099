/* Mode, owner, times, links and extended attributes of a file before a recorded call that changes any of them, or the
 * file's contents.  Noted with the call, for restarts from before it (rdb/live/files/attributes.py). */
#pragma once
#include "crossing/event.h"

enum { ATTRIBUTES_TEXT = 6 * 1024 };

/* State of one call. */
struct attributes {
	bool any;
	bool makes; /* the file does not exist yet */
	size_t len;
	struct {
		struct rdb_note_attributes head;
		char text[ATTRIBUTES_TEXT];
	} note;
};

void attributes_before(const struct event *ev, struct attributes *a);
/* Call when the call has its answer. */
void attributes_after(struct event *ev, struct attributes *a);
