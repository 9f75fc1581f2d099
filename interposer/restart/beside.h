/* The files of a checkpoint without a log: the image, and beside it state-N, which has what the image does not, and
 * commit-N, by which it is one. */
#ifndef RDB_BESIDE_H
#define RDB_BESIDE_H
#include <stdint.h>
#include <ucontext.h>

struct board;
/* The rank stands still, with the running thread's registers uc; a child of it writes them. */
void beside_take(struct board *b, const ucontext_t *uc, uint64_t generation);

#endif
