/* The files of a checkpoint without a log: the image; beside it state-N, which has what the image lacks; and commit-N,
 * which makes the checkpoint valid. */
#pragma once
#include <stdint.h>
#include <ucontext.h>

struct board;
/* The rank stands still, with the running thread's registers uc; a forked child writes the files.  Its process id; 0:
 * there is none. */
int checkpoint_state_take(struct board *b, const ucontext_t *uc, uint64_t generation);
