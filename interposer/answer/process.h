/* Processes of the upper half: fork and its kin, execve.
 *
 * A child is a recording of its own, in `child-N` below its parent's directory; its event 0 is its return
 * from fork.  A program that replaces itself goes on in `exec` below the directory it had.  In replay the
 * parent's fork is answered with the recorded pid; no process is made.
 */
#ifndef RDB_PROCESS_H
#define RDB_PROCESS_H
#include "crossing/event.h"

/* fork, vfork, clone, clone3 without CLONE_THREAD.  Result for the caller; the child returns 0 with
 * *in_child set: it is then at its own event 0 already. */
long process_fork(struct event *ev, ucontext_t *uc, bool *in_child);
struct clone_request;
struct clone_request process_clone_request(const struct event *ev);
/* Is it one that makes a process?  One that is before a restart counts for the names of later ones. */
bool process_forks(const struct event *ev);
void process_child_counted(void);
/* How many there were; a restart goes on counting. */
unsigned process_children(void);
void process_children_from(unsigned before);
/* execve, execveat, with these arguments: returns only -errno. */
long process_exec(struct event *ev, const uint64_t a[6]);
/* Finds out whether `path` can be executed, as execve would say: 0 or -errno. */
int process_can_exec(const char *path);

#endif
