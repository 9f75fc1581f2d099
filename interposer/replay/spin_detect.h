/* Finds out whether a computation repeats itself for ever, unless another process or a device stores to its memory. */
#pragma once
#include <stdbool.h>
#include <ucontext.h>

/* Emulates up to `instructions` from there on and undoes all stores.  True: registers and memory came back to an
 * earlier state without an event in between, so they will for ever.  False: they did not, or an instruction could not
 * be emulated. */
bool spin_detect(const ucontext_t *uc, unsigned instructions);
