#pragma once
#include "crossing/event.h"

/* Adds RDB_NOTE_SOCKET after a successful connect(2), accept(2) or listen(2). */
void note_socket(struct event *ev);
