/* Breakpoints: places (addresses) and the ids set at them.
 *
 * int3 bytes are in memory only while the program runs natively; while it is stopped or stepped the
 * text is the program's own.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

struct place {
	uint64_t addr;
	bool inserted;  /* an arrival stops the program: by an int3, */
	bool carried;   /* by the int3 in a trampoline's copy of the instruction, */
	bool lifted;    /* or by a check while instructions are emulated: the int3 is out for the moment */
	bool guarded;   /* in text that the program may write to */
	uint16_t first; /* chain of entries, 0: none */
	uint32_t used;  /* entries, + 1 for the target, + 1 for the mark */
	/* arrivals since the later of the last event and the start of this RUN/STEP */
	uint64_t hits, hits_event, hits_run;
};

/* 0 or -errno: -EEXIST id is there already, -ENOSPC, -E2BIG condition too long. */
int breakpoints_set(uint64_t id, uint64_t addr, uint64_t flags, const void *condition, size_t len);
int breakpoints_clear(uint64_t id); /* -ENOENT */
void breakpoints_clear_all(void);
/* Arrivals: since it was set, and since the later of that and the last event. */
int breakpoints_count(uint64_t id, uint64_t event, uint64_t counts[2]);

/* RUN's target; 0 clears. */
int breakpoints_target(uint64_t addr);

/* Where the log says that a thread was preempted; 0 clears. */
int breakpoints_mark(uint64_t addr);

/* The place at addr, or NULL. */
struct place *breakpoints_at(uint64_t addr);
/* Counts n arrivals there.  Returns the last one's number as in agent_stop.hits. */
uint64_t breakpoints_arrived(struct place *p, uint64_t event, uint64_t run, uint64_t n);
/* True: an arrival there need only be counted.  No breakpoint there stops the program; unconditional ones do not in a
 * scan. */
bool breakpoints_only_count(const struct place *p, bool scan);
/* The first id there that stops now (its condition holds), or 0. */
uint64_t breakpoints_stopping(const struct place *p, const ucontext_t *uc);

/* Puts in every int3, takes out every one.  Places that are not mapped stay out. */
void breakpoints_insert(void);
void breakpoints_remove(void);
void breakpoint_insert(struct place *p);
void breakpoint_remove(struct place *p);
/* Takes out the int3s in text that the program may write to, and in [start, end), until breakpoints_lower(). */
void breakpoints_lift(uint64_t start, uint64_t end);
void breakpoints_lower(void);
/* Text in [start, end) was replaced: what was in it is gone. */
void breakpoints_forget(uint64_t start, uint64_t end);
