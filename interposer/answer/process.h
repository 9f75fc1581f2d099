/* Processes of the upper half: fork and similar calls, execve.
 *
 * A child is a recording of its own, in `child-N` below its parent's directory; its event 0 is its return from fork.  A
 * program that replaces itself continues in `exec` below its former directory.  In replay the parent's fork is answered
 * with the recorded pid; no process is made.
 */
#pragma once
#include "crossing/event.h"

/* fork, vfork, clone, clone3 without CLONE_THREAD.  Result for the caller; the child returns 0 with
 * *in_child set: it is then at its own event 0 already. */
long process_fork(struct event *ev, ucontext_t *uc, bool *in_child);
struct clone_request;
struct clone_request process_clone_request(const struct event *ev);
/* Does the call make a process?  Such calls before a restart count for the names of later children. */
bool process_forks(const struct event *ev);
void process_child_counted(void);
/* The number of children so far; a restart continues it. */
unsigned process_children(void);
void process_children_from(unsigned before);
/* execve, execveat with a string that cannot be read: how it fails. */
long process_exec_unreadable(const struct event *ev);
/* execve, execveat, with these arguments: returns only -errno. */
long process_exec(struct event *ev, const uint64_t a[6]);
