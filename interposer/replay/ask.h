/* A replica needs the bytes of a message that its log names only by their hash (--record=lean).  It starts the command
 * that its --ask names, one word a line, with the folder of its recording and the number of the event added, and waits
 * for it.  That command has the message made by the rank that sent it (rdb/live/expand/ask.py). */
#pragma once

/* NULL: the message is there now, if the command has not failed silently; else why it cannot be. */
const char *ask(void);
