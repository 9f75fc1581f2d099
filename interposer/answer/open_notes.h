/* Notes for restarts what open(2) has opened: size and path of a file, identity of a pipe. */
#pragma once
#include "crossing/event.h"

void open_notes(struct event *ev);
