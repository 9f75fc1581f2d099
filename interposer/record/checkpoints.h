/* Checkpoints of a rank while it is recorded: when they are due, the child that writes them. */
#pragma once
#include "crossing/event.h"

/* After an event.  uc: the program's context right after it; NULL (a hypercall): if one is due, the trap
 * after the hypercall takes it. */
void checkpoint_if_due(ucontext_t *uc);
/* A checkpoint has been asked for (rdb checkpoint): it is due at the next event.  Async-signal-safe. */
void checkpoint_request(void);
/* A safe point of a program with callbacks, which are called only where one is asked for. */
bool checkpoint_point(void);
void checkpoint_called(bool whole);
/* The trap after the hypercall has come. */
void checkpoint_at_trap(ucontext_t *uc);
/* A call is about to be made: waits for an image that is being written, if the call would change it. */
void checkpoint_before(const struct event *ev);
/* In a child after fork: forgets what the parent has under way. */
void checkpoints_forked(void);
/* The recording ends.  Before execve an image that is being written is given up. */
void checkpoints_end(enum log_end how);

/* Takes an image of a program that is not recorded (restart/checkpoint/coordinated.h).  The forked child calls `beside`
 * with the result of the image; what that returns is the result of the checkpoint.  The child's process id, or -errno. */
int checkpoint_coordinated(const ucontext_t *uc, unsigned number, int (*beside)(unsigned number, int rc));
