/* Does a thread wait by looking at memory?  While a rank is recorded nobody else runs meanwhile, so what it waits for
 * never comes: it is to give way at once. */
#ifndef RDB_SPIN_H
#define RDB_SPIN_H
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

enum {
	SPIN_INSTRUCTIONS = 60, /* for mark_take() in a spin: more would say nothing more */
	SPIN_WORDS = 16,
	SPIN_COUNTERS = 4,
	SPIN_TURN = 200, /* instructions, for spin_turn() */
};

/* What a spin looks at, but for what it writes itself: a word that it tries to change atomically, in vain, is looked at. */
struct spin {
	unsigned n;
	struct {
		uint64_t addr, len, value;
	} word[SPIN_WORDS];
	unsigned ncounters; /* words that each turn changes: only these tell its turns apart, besides the registers */
	uint64_t counter[SPIN_COUNTERS];
	unsigned nchanged; /* words that are others in a part of a turn: a lock that it takes and releases */
	uint64_t changed[SPIN_WORDS];
};

/* In a signal handler of the recording, uc the stopped upper context; only one thread at a time.  Goes on by `instructions`
 * at most, carried out on uc.  True: it is in a small loop that reads the same memory in each turn, or pauses,
 * and changes nothing but a few counters; what it reads is in spin.  Of loops within loops the outer one. */
bool spin_here(ucontext_t *uc, struct spin *spin, unsigned instructions);
/* The same for one turn, from uc back to where it stands. */
bool spin_turn(ucontext_t *uc, struct spin *spin);
/* Of the last turn that was found by spin_here(): a place that it comes by once, as the i-th best to meet it at the next time.
 * 0: no more. */
uint64_t spin_place(unsigned i);
/* Takes the words' present values. */
void spin_begins(struct spin *spin);
/* One of them is another now. */
bool spin_ends(const struct spin *spin);
/* Does a turn of `spin` change what `other` looks at? */
bool spin_changes(const struct spin *spin, const struct spin *other);

#endif
