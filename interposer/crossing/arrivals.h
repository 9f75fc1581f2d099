/* What the network brings while the program asks for nothing: RDMA writes, messages into posted buffers.
 *
 * It reaches upper memory at events alone, so that a replay has it at the same place.  A plug-in says that something
 * has come (host->arrived) and carries it out when it is asked to:
 *  - at the end of the next event of any kind, as a part of that event;
 *  - while no upper thread runs (all wait in system calls or in plug-ins): by a thread of ours.  No upper thread can
 *    see it before the next event, whose record takes what was written;
 *  - in a computation without events, such as a program that polls memory: the program is stopped where it is, and
 *    the PREEMPT takes it (computation.h).
 */
#pragma once
#include "crossing/event.h"

/* A plug-in can bring something. */
extern bool arrivals_possible;
/* Something has come and is not carried out yet. */
extern volatile bool arrivals_waiting;

/* The first plug-in with progress() is loaded. */
void arrivals_begin(void);
/* host->arrived */
void arrivals_came(void);
/* Recording: at the end of an event, after all else that it did. */
void arrivals_at_event(struct event *ev);
/* Around a wait of the calling thread, in which it touches no upper memory but that of its own answer. */
void arrivals_still_begin(void);
void arrivals_still_end(void);
/* In a forked child: the thread of ours is gone. */
void arrivals_in_child(void);

/* host.c: calls progress() of the plug-ins; keeps our thread out of them while the process forks, so that it holds no
 * lock of libc's; tells them in the child. */
void host_progress(void);
/* A replay has become the program: begins to carry out what the network brings. */
void host_live(void);
void host_fork_begin(void);
void host_fork_end(void);
void host_in_child(void);
