/* Stopping a thread in the middle of a computation, where it makes no events: to let another one run, or to
 * deliver a signal.  The place is logged as a mark (mark.h), a PREEMPT event. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* Recording: the calling thread was interrupted at uc, in upper code.  `signal`: a signal is to be delivered. */
void computation_stopped(ucontext_t *uc, bool signal);
/* The same, before its slice is over: it gives way if it does nothing but wait, or where it has released what another
 * thread waits for.  `fresh`: at the first instruction after an event. */
void computation_looked_at(ucontext_t *uc, bool fresh);
/* Recording: a thread that was stopped, or is new, has the baton and goes on. */
void computation_resumed(ucontext_t *uc);

/* spins.c.  spin_here() has just found a spin: from now on a thread that waits there gives way at once. */
void spins_known(void);
/* From spin_gate.S, as hot_syscall(). */
uint64_t spins_arrived(ucontext_t *uc, uint64_t tls);
void spin_gate(void);
