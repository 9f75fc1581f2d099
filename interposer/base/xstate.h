/* The vector state in a signal frame, also of another CPU than this one. */
#ifndef RDB_XSTATE_H
#define RDB_XSTATE_H

/* Puts the state `saved` (a signal frame's, copied whole) into the frame at `into`, whose size and features
 * stay the kernel's.  From another kind of CPU: x87, SSE and AVX; what is beyond starts afresh. */
void xstate_put(void *into, const void *saved);

#endif
