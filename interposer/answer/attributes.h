/* Mode, owner, times, links and extended attributes of a file before a recorded call that changes any of them, or what is in
 * it: noted with the call, for restarts from before it (rdb/live/files/attributes.py). */
#ifndef RDB_ATTRIBUTES_H
#define RDB_ATTRIBUTES_H
#include "crossing/event.h"

enum { ATTRIBUTES_TEXT = 6 * 1024 };

/* Of one call. */
struct attributes {
	bool any;
	bool makes; /* there is no such file yet */
	size_t len;
	struct {
		struct rdb_note_attributes head;
		char text[ATTRIBUTES_TEXT];
	} note;
};

void attributes_before(const struct event *ev, struct attributes *a);
/* It has its answer. */
void attributes_after(struct event *ev, struct attributes *a);

#endif
