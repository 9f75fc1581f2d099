/* Notes for restarts what open(2) has opened: size and path of a file, identity of a pipe. */
#ifndef RDB_OPEN_NOTES_H
#define RDB_OPEN_NOTES_H
#include "crossing/event.h"

void open_notes(struct event *ev);

#endif
