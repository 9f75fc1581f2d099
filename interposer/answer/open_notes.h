/* What open(2) has opened, for restarts: how much was in a file, and where it is; which pipe. */
#ifndef RDB_OPEN_NOTES_H
#define RDB_OPEN_NOTES_H
#include "crossing/event.h"

void open_notes(struct event *ev);

#endif
