/* Checkpoints without a log (--record=checkpoints): all ranks stop where nothing of them is in the network, and each
 * writes an image beside which lies what the image does not have: state-N, with descriptors, timers, and what
 * libraries below have made (restart/board.h says how they agree; ARCHITECTURE.md, "Checkpoints without a log"). */
#ifndef RDB_COORDINATED_H
#define RDB_COORDINATED_H
#include "crossing/event.h"

/* Joins the board; then, right before the program runs or goes on, is there for others. */
void coordinated_join(void);
void coordinated_begin(void);
/* One is wanted: told by a signal, by the timer, or by the program. */
void coordinated_want(void);
void coordinated_told(bool by_timer);
/* At rest: stays here until the checkpoint is taken, if one is wanted and others need nothing of this rank.
 * uc: the program's registers; NULL: it stands before the present call.  `complete` (or NULL) says that the call has
 * what it waits for.  True: it has been held. */
bool coordinated_hold(const ucontext_t *uc, bool (*complete)(void *), void *arg);
/* The same for event_answered(): uc NULL: at the trap on return. */
void coordinated_at_event(ucontext_t *uc);
void coordinated_at_trap(ucontext_t *uc);
/* The program ends or is replaced; or this is a forked child, which is no rank. */
void coordinated_gone(void);
void coordinated_forked(void);
/* The calling thread is in a call of a library that may wait for other ranks, or not any more. */
void coordinated_away(bool away);
struct board *coordinated_board(void); /* NULL: none */
/* Is one wanted?  A look at the board, which others may be on. */
bool coordinated_due(void);

/* thaw.c: going on from such a checkpoint.  The state beside image `number` is checked and libraries have again what
 * they had; then, with the program's registers, it goes on. */
int thaw_prepare(unsigned number);
int thaw_check(unsigned number); /* is the state whole? */
void thaw(ucontext_t *uc);

#define STATE_MAGIC 0x657461746262646cull
#define STATE_VERSION 9
struct state_head {
	uint64_t magic;
	uint32_t version, check; /* crc32c_data of all of the file, with 0 in its place */
	uint64_t number;
	uint64_t sockets;                /* so many, for which its ranks meet: rdb/live/from_checkpoint.py */
	uint64_t library_len, files_len; /* what follows: of the MPI library, then open files, */
	uint64_t timers_len;             /* then timers of timer_create(2), */
	uint64_t signals_len;            /* signals that the program has not got yet, */
	uint64_t threads_len;            /* threads, */
	uint64_t scheduling_len;         /* what processors and priorities they have asked for, */
	uint64_t shared_len;             /* and memory that is mapped shared (own_shared.h) */
	uint64_t pending;                /* signals that it reads by a descriptor, as bits */
	uint8_t timers[96];
};

/* What an image does not keep of a thread. */
struct state_thread {
	uint32_t number, reserved;
	uint64_t waited_ns; /* it stands before a call in which it has waited for so long; 0: it does not */
	uint64_t pending;   /* signals for it alone; of who runs they are with those for anybody */
	uint64_t done;      /* so many bytes of that call are written, or read */
};

#endif
