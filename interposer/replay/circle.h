/* Does a computation go round in a circle, from which only somebody else's store can bring it out? */
#ifndef RDB_CIRCLE_H
#define RDB_CIRCLE_H
#include <stdbool.h>
#include <ucontext.h>

/* Carries out the next `instructions` from there, and takes all back.  True: registers and memory came to be what
 * they had been before, without an event in between; so they will for ever.  False: they did not, or there was
 * an instruction that cannot be carried out here. */
bool circle_from(const ucontext_t *uc, unsigned instructions);

#endif
