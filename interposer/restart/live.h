/* A replay that becomes the program again: up to the cut the log answers, from there on the world does, and what
 * happens is a recording of its own (a branch), which begins with an image at its event 0. */
#ifndef RDB_LIVE_H
#define RDB_LIVE_H
#include "crossing/event.h"

/* The program is at the cut. */
static inline bool live_due(void)
{
	return restarting() && lower.event >= lower.opt.at;
}

/* A system call that the log has answered: what it did to the world is remembered, or done again. */
void live_syscall(const struct event *ev);
/* A call through the gate, before and after the log has answered it. */
void live_hypercall_asked(const struct event *ev);
void live_hypercall_answered(const struct event *ev);
/* At the cut, after its event; uc: the program's context, NULL: it is known at the trap after the hypercall. */
void live_at_event(ucontext_t *uc);
void live_at_trap(ucontext_t *uc);
/* libraries.c: before the first event, what a branch began with. */
void live_libraries_begin(void);
/* MPICH's launcher gives each process a descriptor; what has a number of the program's is closed at the cut. */
void live_keep_launcher(void);
/* Its descriptors made, the program is a branch: with a log of its own, which names the files mapped so far, and
 * a boundary as in a program that runs. */
void live_as_branch(ucontext_t *uc, const struct mode *mode);
/* libraries.c: what was pending in them is there again. */
void live_libraries_cut(void);
/* The program goes on: it may wait here for other ranks. */
void live_libraries_go(void);
/* Says why the program cannot be brought back, and ends the process: nothing of it has gone live. */
void live_refuse(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* The time of the recording at which this process is cut. */
uint64_t live_cut_ns(void);

#endif
