/* Checkpoints of a rank while it is recorded: when they are due, the child that writes them. */
#ifndef RDB_CHECKPOINTS_H
#define RDB_CHECKPOINTS_H
#include "base/lower.h"

/* After an event.  uc: the program's context right after it; NULL (a hypercall): if one is due, the trap
 * after the hypercall takes it. */
void checkpoint_if_due(ucontext_t *uc);
/* Somebody has asked for one (rdb checkpoint): it is due at the next event.  Async-signal-safe. */
void checkpoint_request(void);
/* That trap has come. */
void checkpoint_at_trap(ucontext_t *uc);
/* Does a child still write the program's memory to an image? */
bool checkpoint_under_way(void);
/* Until it has, or is gone. */
void checkpoint_wait(void);
/* In a child after fork: what the parent had under way is its own. */
void checkpoints_forked(void);
/* The recording ends; before execve what is being written is given up. */
void checkpoints_end(enum log_end how);

/* An image of a program that is not recorded (restart/coordinated.h): forked, `beside` is called in the child, which is
 * told what came of the image and says what came of all.  0 or -errno. */
int checkpoint_together(const ucontext_t *uc, unsigned number, int (*beside)(unsigned number, int rc));

#endif
