/* Who may run upper code while a rank is recorded: the holder of the baton.
 *
 * First come, first served.  The thread that waits longest reminds the holder when its slice is over: the holder gives
 * way at its next event, or, in a computation without events, at the instruction where the reminder finds it.  A holder
 * that waits by looking at memory burns its slice in vain.  So it is looked at (marks/spin.h) soon after others begin
 * to wait, and again and again.  If it spins it gives way at once, and the next time without such a look (spins.c).  A
 * holder that takes a lock again as soon as it has released it might give way only while it has the lock.  So it also
 * gives way where what another thread's spin waits for has come, also if it spins itself and that comes and goes in
 * each turn, and where it wakes a thread that it has woken in vain before.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct spin;
struct thread;

/* Waits until the calling thread holds the baton. */
void baton_take(void);
/* Hands it to the thread that waits longest. */
void baton_give(void);
/* Gives way to the thread that waits longest, and takes it again. */
void baton_yield(void);
/* With --chaos: the holder rests, for a random time, while others may run; it does so before an event if it is late. */
void baton_rest(void);
void baton_late(void);
/* The calling thread spins as its `spin` says.  Does a thread wait for the baton that does not spin for what has not
 * come, or that may have what the caller spins for? */
bool baton_of_use(void);
/* Gives way to such a thread. */
void baton_pass(void);
/* The holder has just woken threads at this futex, which may be a lock that it takes again before they run.  Gives way
 * to them, if one of them has been woken there in vain before. */
void baton_hand_on(uint64_t futex);
/* Before and after a call that may block.  End takes what begin returned. */
bool baton_block_begin(void);
void baton_block_end(bool given);
/* Recording is over: everybody runs. */
void baton_open(void);
/* At the start, and in a child after fork: the caller holds it. */
void baton_reset(void);
/* While no thread runs upper code.  If no thread has the baton, `visitor` gets it, and has to give it back; else the
 * holder's `still` becomes `after`, if it is `before`.  Returns the thread that was visited, or NULL. */
struct thread *baton_visit(struct thread *visitor, uint32_t before, uint32_t after);
/* The calling thread has it.  Only that thread can change this. */
bool baton_held(void);
/* A thread of the program has it, and may be in upper code. */
bool baton_by_thread(void);
/* Makes the holder look at what is pending. */
void baton_remind_holder(void);
/* The holder was looked at while others wait: it will be looked at again, at growing intervals. */
void baton_looked(void);
/* The carrier of t ends. */
void baton_gone(struct thread *t);
extern char baton_look_cookie; /* signals that ask for such a look carry its address */
/* A thread waits for it. */
bool baton_wanted(void);
/* Nobody has it, nor wants it: all threads wait in the kernel. */
bool baton_free(void);
/* Of the waiting threads that were stopped in a spin, the spin of the one that waits longest, or NULL.  If `changes` is
 * not NULL: only a spin for something that each turn of `changes` changes. */
const struct spin *baton_spin(const struct spin *changes);
