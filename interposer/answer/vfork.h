/* The shared memory of vfork and of clone(CLONE_VM | CLONE_VFORK): posix_spawn's child tells its
 * parent through it why the program could not be started.
 *
 * Our child has a copy of the memory, so that its recording is its own.  What it wrote before it
 * replaces itself or ends is sent to the parent, which waits for that anyway; it is part of the
 * answer to the parent's call.
 */
#ifndef RDB_VFORK_H
#define RDB_VFORK_H
#include "crossing/event.h"

/* Before the fork: ends[0] is the parent's, ends[1] the child's.  0 or -errno. */
int vfork_open(int ends[2]);
/* In the child; shared: it was to have its parent's memory. */
void vfork_child(const int ends[2], bool shared);
/* In a child of another kind: what its parent was told to send is not its business. */
void vfork_forget(void);
/* In the parent: returns when the child has gone, its writes are in memory and in ev. */
void vfork_wait(const int ends[2], struct event *ev);
/* In a process that is about to replace itself or to end. */
void vfork_leaving(void);

/* This is such a child, and its parent waits for it. */
bool vfork_under_way(void);

#endif
