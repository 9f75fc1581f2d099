#ifndef RDB_SOCKET_NOTES_H
#define RDB_SOCKET_NOTES_H
#include "crossing/event.h"

/* Of a connect(2), accept(2) or listen(2) that succeeded: RDB_NOTE_SOCKET. */
void note_socket(struct event *ev);

#endif
