/* A replay that becomes the program again: up to the cut the log answers, from there on the world does, and what
 * happens is a recording of its own (a branch), which begins with an image at its event 0. */
#pragma once
#include "restart/base/cut.h"

/* What other folders do with the table of open files. */
extern const struct open_owners live_owners;
/* A system call that the log has answered: notes what it did to the world, or does it again. */
void live_syscall(const struct event *ev);
/* A call through the gate, before and after the log has answered it. */
void live_hypercall_asked(const struct event *ev);
void live_hypercall_answered(const struct event *ev);
/* At the cut, after its event.  uc: the program's context; NULL: known at the trap after the hypercall. */
void live_at_event(ucontext_t *uc);
void live_at_trap(ucontext_t *uc);
/* libraries.c: before the first event, makes what a branch began with. */
void live_libraries_begin(void);
/* Once its descriptors are made, the program becomes a branch: with a log of its own, which names the files mapped so
 * far, and a boundary as in a program that runs. */
void live_as_branch(ucontext_t *uc, const struct mode *mode);
/* libraries.c: makes again what was pending in them. */
void live_libraries_cut(void);
/* The program goes on: it may wait here for other ranks. */
void live_libraries_go(void);
