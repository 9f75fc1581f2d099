/* What system calls move to and from the program's descriptors while a replay leads to a cut: offsets, the contents of
 * files, pipes and sockets. */
#pragma once
#include "crossing/event.h"

struct opened;

void moves_read(const struct event *ev);
void moves_write(const struct event *ev);
void moves_write_at(const struct event *ev);
void moves_read_parts(const struct event *ev);
void moves_write_parts(const struct event *ev);
void moves_memory(const struct event *ev);
void moves_sought(const struct event *ev);
void moves_listed(const struct event *ev);
/* sendfile(2), splice(2), copy_file_range(2), */
void moves_between(const struct event *ev);
/* tee(2) */
void moves_copied(const struct event *ev);
void moves_truncated(const struct event *ev);
void moves_truncated_path(const struct event *ev);
void moves_allocated(const struct event *ev);
/* The descriptor is read or written in a way that is not followed: it cannot be made again, if it is open at the cut.
 * f may be NULL. */
void moves_unknown(const struct event *ev, struct opened *f);
