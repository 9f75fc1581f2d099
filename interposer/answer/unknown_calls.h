/* --lax: calls that the table does not know are passed on.  The log has their answer and, where the kernel can tell, each page
 * of the program that was written to meanwhile. */
#ifndef RDB_UNKNOWN_CALLS_H
#define RDB_UNKNOWN_CALLS_H
#include "crossing/event.h"

/* Around the call, while recording. */
void unknown_call_before(void);
void unknown_call_after(struct event *ev);

#endif
