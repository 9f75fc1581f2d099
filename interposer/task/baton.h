/* Who may run upper code while a rank is recorded: the holder of the baton.
 *
 * First come, first served.  Who waits longest reminds the holder when its slice is over: it gives way at
 * its next event, or, in a computation without events, at the instruction where the reminder finds it.
 * A holder that waits by looking at memory burns its slice in vain.  So it is looked at (marks/spin.h) soon after others
 * begin to wait, and again and again; if it spins it gives way at once, and the next time without such a look (spins.c).
 * A holder that takes a lock again as soon as it has released it might give way only while it has it.  So it also gives
 * way where what another one's spin waits for has come, also if it spins itself and that comes and goes in each turn, and where it wakes one that it has woken in vain before.
 */
#ifndef RDB_BATON_H
#define RDB_BATON_H
#include <stdbool.h>
#include <stdint.h>

struct spin;
struct thread;

/* Waits until the calling thread holds the baton. */
void baton_take(void);
/* Hands it to whoever waits longest. */
void baton_give(void);
/* Gives way to whoever waits, and takes it again. */
void baton_yield(void);
/* The calling thread spins as its `spin` says: does somebody wait for the baton who does not spin for what has not come, or
 * who may have what it spins for? */
bool baton_of_use(void);
/* Gives way to such a one. */
void baton_pass(void);
/* The holder has just woken threads at this futex, which may be a lock that it takes again before they run: gives way to
 * them, if one of them has been woken there in vain before. */
void baton_hand_on(uint64_t futex);
/* Before and after a call that may block: what begin returned goes to end. */
bool baton_block_begin(void);
void baton_block_end(bool given);
/* Recording is over: everybody runs. */
void baton_open(void);
/* At the start, and in a child after fork: the caller holds it. */
void baton_reset(void);
/* While nobody runs upper code: gives the baton to `visitor`, where nobody has it, to be given back; or makes the
 * holder's `still` `after`, if it is `before`.  Who was visited, or NULL. */
struct thread *baton_visit(struct thread *visitor, uint32_t before, uint32_t after);
/* The calling thread has it.  Only itself can change that. */
bool baton_held(void);
/* Makes the holder look at what is pending. */
void baton_remind_holder(void);
/* The holder was looked at while others wait: it will be again, later and later. */
void baton_looked(void);
/* The carrier of t ends. */
void baton_gone(struct thread *t);
extern char baton_look_cookie; /* signals that ask for such a look carry its address */
/* Somebody waits for it. */
bool baton_wanted(void);
/* The spin of who waits longest of those that were stopped in one (for something that each turn of the spin `changes` changes,
 * if that is not NULL), or NULL. */
const struct spin *baton_spin(const struct spin *changes);

#endif
