/* --lax: what a call that the table does not know did to the map of memory, and which descriptors it made.
 *
 * Looked at around the call while recording.  A replay maps the same, with what the log has of its content; a descriptor
 * it needs not have, since the log answers all that is asked of it, but a restart does. */
#ifndef RDB_UNKNOWN_MAPS_H
#define RDB_UNKNOWN_MAPS_H
#include "crossing/event.h"

struct log_chunk;
struct log_record;

void unknown_maps_before(void);
/* What has changed is noted.  Memory at an address that the kernel chose goes where a replay can have it: then the call's
 * result is that.  CONTENT: of new memory it is to be logged here.  True: it has mapped memory that others may write. */
bool unknown_maps_after(struct event *ev, bool content);
/* In a replay: such a note, before the event's bytes are stored; and, when they are, the protections. */
void unknown_maps_recorded(const struct log_chunk *c);
void unknown_maps_protect(const struct log_record *rec);

#endif
