/* Mode, owner, times and extended attributes of the branch's copies: as the recorded program saw them on its files. */
#pragma once
#include <stdbool.h>
#include "crossing/event.h"
#include "restart/base/open_table.h"

/* ---- on the way to the cut ---- */

/* A new copy gets what the recording noted when the program opened its file. */
void own_attributes_opened(const struct opened *f);
/* The copy was written to, or cut, by the present event. */
void own_attributes_written(int copy);
/* Opens the copy of the file at that path; -1: there is none. */
int own_copy_named(int dir, const char *path, bool follow);
/* chmod(2), chown(2), utimensat(2), setxattr(2) and similar calls, on a file of which there is a copy. */
void own_attributes_syscall(const struct event *ev);
/* At the beginning of a branch: the copy gets the attributes of the file that was kept. */
void own_attributes_as(const char *kept, int copy);
/* The reverse: a file that is kept, to be read again later, gets those of the copy, or of any file. */
void own_attributes_keep(const char *from, int kept);
/* True: the copy's attributes differ from those of the file at that path. */
bool own_attributes_differ(const char *copy, const char *path);

/* ---- at the cut, when no copy is to be opened any more by its mode ---- */

void own_attributes_at_cut(void);
