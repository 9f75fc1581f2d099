/* Checkpoints of a rank while it is recorded: when they are due, the child that writes them. */
#ifndef RDB_CHECKPOINTS_H
#define RDB_CHECKPOINTS_H
#include "crossing/event.h"

/* After an event.  uc: the program's context right after it; NULL (a hypercall): if one is due, the trap
 * after the hypercall takes it. */
void checkpoint_if_due(ucontext_t *uc);
/* Somebody has asked for one (rdb checkpoint): it is due at the next event.  Async-signal-safe. */
void checkpoint_request(void);
/* That trap has come. */
void checkpoint_at_trap(ucontext_t *uc);
/* A call is about to be made: what it would change of an image that is being written is written first. */
void checkpoint_before(const struct event *ev);
/* In a child after fork: what the parent had under way is its own. */
void checkpoints_forked(void);
/* The recording ends; before execve what is being written is given up. */
void checkpoints_end(enum log_end how);

/* An image of a program that is not recorded (restart/coordinated.h): forked, `beside` is called in the child, which is
 * told what came of the image and says what came of all.  0 or -errno. */
int checkpoint_together(const ucontext_t *uc, unsigned number, int (*beside)(unsigned number, int rc));

#endif
