/* A mark: one arrival at an instruction, without any counter.
 *
 * While recording, a program that computes without events is stopped by a signal wherever it happens to
 * be.  The log keeps what tells this arrival from all others at the same pc: registers, stack, and words
 * of memory that change from one arrival to the next.  In replay a trampoline (trampoline.h) or an int3 at
 * pc stops at arrivals, and mark_here() says whether it is the one.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>
#include "arch/registers.h"

struct spin;

enum {
	MARK_WORDS = 12,
	MARK_VECTORS = 4,
	MARK_PAGES = 16,
	MARK_INSTRUCTIONS = 6000,        /* a good bound for mark_take: about 0.2 ms of integer code */
	MARK_FLAGS = FLAGS_SEEN,         /* what is compared */
	MARK_UNSURE = FLAGS_UNSURE,      /* not compared, but kept, ... */
	MARK_UNSURE_KNOWN = FLAGS_SPARE, /* ... since the frame of a signal that is delivered here holds them */
	MARK_STACK_BELOW = 128,          /* the red zone */
	MARK_STACK_ABOVE = 384,
	MARK_STACK_FAR = 8192, /* above that, callers' frames: by a checksum */
	MARK_TEXT_BEFORE = 48, /* decoding that begins there is in step with the instructions at pc */
	MARK_TEXT_BEHIND = 16,
};

struct mark_word {
	uint64_t addr, value;
};

/* Flat, native endianness: goes into the log as its first mark_size() bytes. */
struct mark {
	uint64_t gpr[GENERAL_REGISTERS]; /* as numbered in instructions */
	uint64_t pc, flags;
	uint64_t stack_from;
	uint32_t stack_len;
	uint32_t far_crc;               /* the stack from there on; 0: not known */
	uint32_t vector_crc;            /* of the vector registers */
	uint32_t pages_crc;             /* mark_pages.h */
	uint64_t vector[MARK_VECTORS];  /* low halves of those registers that vary */
	uint8_t vector_n[MARK_VECTORS]; /* their numbers */
	uint32_t nvectors;
	uint16_t varies; /* bit n: gpr[n] differed at the arrival before */
	uint16_t heat;   /* arrivals at pc in a thousand instructions, as far as seen */
	uint32_t nwords, npages;
	uint64_t pages[MARK_PAGES];
	/* The text around pc, if the program may have generated it: other instructions may have been there before. */
	uint64_t text_from;
	uint32_t text_len, text_crc;
	uint8_t stack[MARK_STACK_BELOW + MARK_STACK_ABOVE];
	struct mark_word words[MARK_WORDS]; /* those that change most often first */
	/* arrivals not 0: as in struct mark_counted; of the fields above only pc is set. */
	uint64_t arrivals, check;
};

/* A mark where the recording counted arrivals (text/spin_sites.h).  In the log. */
struct mark_counted {
	uint64_t pc, arrivals; /* since the event before */
	uint64_t check;        /* checksum of the registers there */
};

enum mark_next {
	MARK_TAKEN = 0,
	MARK_EVENT = 1, /* taken as well; the next instruction is a system call or goes into the gate */
};

/* In a signal handler of the recording, uc the stopped upper context; only one thread at a time.  Goes
 * on by up to `instructions`, carried out on uc, to a place that is visited less often and where a
 * trampoline can be put; ends at an instruction boundary (a signal can stop a repeated string instruction
 * in its middle).  enum mark_next, or -EAGAIN: uc stands where no mark is possible (in a string
 * instruction that is about to fault, or a gather): let it run on and try again. */
int mark_take(ucontext_t *uc, struct mark *m, unsigned instructions);
/* The same, in the middle of this spin: what its turns change is among the words. */
int mark_take_within(ucontext_t *uc, struct mark *m, unsigned instructions, const struct spin *spin);
/* The same, but it looks for a place where the spin `after` has ended.  `fresh`: uc stands at the first
 * instruction after an event, so each place is told from all others when it is met for the first time. */
int mark_take_after(ucontext_t *uc, struct mark *m, unsigned instructions, const struct spin *after,
		    const struct spin *within, bool fresh);

/* If set: may others than the program write there at any time?  Such memory is in no mark: a replay has it at
 * events only. */
extern bool (*mark_contested)(uint64_t start, uint64_t end);

/* Is the text around pc what it is at the arrival?  Else an instruction may not even begin there.  No patch may
 * be in it now. */
bool mark_text_here(const struct mark *m);
/* Is this the arrival?  mark_registers_here() compares registers only.  mark_here() compares everything; no patch may
 * be in memory that it compares. */
bool mark_registers_here(const struct mark *m, const ucontext_t *uc);
bool mark_here(const struct mark *m, const ucontext_t *uc);
/* The program is stopped at the mark: restores what the mark keeps but does not compare. */
void mark_arrived(const struct mark *m, ucontext_t *uc);

static inline size_t mark_size(const struct mark *m)
{
	return offsetof(struct mark, words) + m->nwords * sizeof(struct mark_word);
}

/* From the log.  0 or -EINVAL. */
int mark_load(struct mark *m, const void *bytes, size_t len);
int mark_load_counted(struct mark *m, const void *bytes, size_t len);

/* Replay.  The event before the mark (NULL: there is no mark) has been answered: arrivals are counted from here on.
 * emulate() counts those that it carries out; for others mark_count_to() names another counter. */
void mark_count_begin(const struct mark *m);
/* From now on the counter (minus the arrivals that are left, -1 at the mark) is at `counter`, or (NULL) in mark.c. */
void mark_count_to(int64_t *counter);
uint64_t mark_counted_check(const ucontext_t *uc);
