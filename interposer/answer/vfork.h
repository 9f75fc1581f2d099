/* The shared memory of vfork and of clone(CLONE_VM | CLONE_VFORK): through it posix_spawn's child tells its parent why
 * the program could not be started.
 *
 * Our child has a copy of the memory, so that it has a recording of its own.  Before it replaces itself or ends, what
 * it wrote is sent to the parent, which waits for that anyway.  It becomes part of the answer to the parent's call.
 * What other threads of the parent store meanwhile stays.
 */
#pragma once
#include "crossing/event.h"

/* Before the fork: ends[0] is the parent's, ends[1] the child's.  0 or -errno. */
int vfork_open(int ends[2]);
/* In the child; shared: the program asked for shared memory. */
void vfork_child(const int ends[2], bool shared);
/* In a child of another kind: forgets what its parent was to send. */
void vfork_forget(void);
/* In the parent: returns when the child has replaced itself or ended; its writes are then in memory and in ev. */
void vfork_wait(const int ends[2], struct event *ev);
/* Call in a process that is about to replace itself or to end. */
void vfork_leaving(void);

/* Is this such a child, whose parent waits? */
bool vfork_under_way(void);
