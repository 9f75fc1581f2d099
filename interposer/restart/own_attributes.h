/* Mode, owner, times and extended attributes of the branch's copies: as the recorded program saw those of its files. */
#ifndef RDB_OWN_ATTRIBUTES_H
#define RDB_OWN_ATTRIBUTES_H
#include <stdbool.h>
#include "crossing/event.h"
#include "restart/open_table.h"

/* ---- on the way to the cut ---- */

/* A copy that was made anew has what is in it: what the recording noted when the program opened its file. */
void own_attributes_opened(const struct opened *f);
/* The copy was written to, or cut, by the present event. */
void own_attributes_written(int copy);
/* chmod(2), chown(2), utimensat(2), setxattr(2) and their kin, on a file of which there is a copy. */
void own_attributes_syscall(const struct event *ev);
/* TO is one copy, FROM another: what is known of that holds for this. */
void own_attributes_same(int from, int to);
/* Of what a branch began with: what the file that was kept has is the copy's. */
void own_attributes_as(const char *kept, int copy);
/* The same the other way: a file in the branch's directory that is to be read again. */
void own_attributes_keep(const char *from, int kept);
/* Another one than what is at that path has. */
bool own_attributes_differ(const char *copy, const char *path);

/* ---- at the cut, when no copy is to be opened any more by its mode ---- */

void own_attributes_at_cut(void);

#endif
