/* --lax: what a call that is not in the table did to the memory map, and which descriptors it made.
 *
 * Both are found by comparing before and after the call while recording.  A replay maps the same, with the contents in
 * the log.  It needs no descriptors, since the log answers all calls; a restart does.
 */
#pragma once
#include <stdint.h>
#include "crossing/event.h"

struct log_chunk;
struct log_record;

/* A change of private memory of no file. */
struct map_change {
	uint64_t start, end;
	int32_t prot; /* -1: nothing is mapped there any more */
	bool anew;
};
/* The changes since the first call, for another process that makes them, too (answer/vfork.h).  fn returns 0 or
 * -errno. */
void map_changes_begin(void);
int map_changes(int (*fn)(const struct map_change *c));
void map_change_make(struct event *ev, const struct map_change *c);

void unknown_maps_before(void);
/* Notes the changes.  Memory at an address that the kernel chose is moved to where a replay can have it, and that
 * becomes the call's result. content: log the contents of new memory here.  True: the call mapped memory that others
 * may write. */
bool unknown_maps_after(struct event *ev, bool content);
/* In a replay: applies such a note, before the event's bytes are stored; sets the protections, after they are
 * stored. */
void unknown_maps_recorded(const struct log_chunk *c);
void unknown_maps_protect(const struct log_record *rec);
