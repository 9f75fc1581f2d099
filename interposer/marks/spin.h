/* Finds out whether a thread waits by looking at memory.  While a rank is recorded no other thread runs meanwhile, so
 * what it waits for never comes: it has to give way at once. */
#pragma once
#include "base/thread.h"

enum {
	SPIN_INSTRUCTIONS = 60, /* for mark_take() in a spin: more would tell nothing more */
	SPIN_ASKS = 1000,       /* instructions, for spin_asks_more(), through libraries */
};

/* In a signal handler of the recording, uc the stopped upper context; only one thread at a time.  Goes on by
 * `instructions` at most, carried out on uc.  True: it is in a small loop that reads the same memory in each turn, or
 * pauses, and changes nothing but a few counters; what it reads is in `spin`.  Of nested loops it is the outer one. */
bool spin_here(ucontext_t *uc, struct spin *spin, unsigned instructions);
/* The same for one turn, from uc back to where it stands. */
bool spin_turn(ucontext_t *uc, struct spin *spin, unsigned instructions);
/* A turn with events in it.  Begins it, after an answer; returns its number. */
unsigned spin_asks(const ucontext_t *uc);
/* Then, after each answer: goes on to the instruction at `place`, which asks for the next one.  False: the thread does
 * not come there, or another turn has begun meanwhile. */
bool spin_asks_more(unsigned turn, ucontext_t *uc, uint64_t place);
/* At last, after an answer like the first: does the thread wait? */
bool spin_asks_again(unsigned turn, const ucontext_t *uc, struct spin *spin);
/* spin_know_map() learns which memory may be read; this holds until an event changes the map.  spin_map_stays(): the
 * event made just now did not. */
void spin_know_map(void);
void spin_map_stays(void);
/* A place that the last turn found by spin_here() passes once: the i-th best to meet the spin at next time.  0: no
 * more.  instructions: a limit for spin_turn(), some times the turn that was found. */
uint64_t spin_place(unsigned i, unsigned *instructions);
/* Takes the words' present values. */
void spin_begins(struct spin *spin);
/* True: one of the words has changed. */
bool spin_ends(const struct spin *spin);
/* Does a turn of `spin` change what `other` looks at? */
bool spin_changes(const struct spin *spin, const struct spin *other);
