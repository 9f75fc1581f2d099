/* Checkpoints without a log (--record=checkpoints): all ranks stop where nothing of them is in the network, and each
 * writes an image.  Beside it lies state-N, with what the image lacks: descriptors, timers, and what libraries below
 * have made.  restart/checkpoint/board.h says how the ranks agree; see docs/internals/coordinated.md. */
#pragma once
#include "crossing/event.h"
#include "restart/process/clocks.h"

/* coordinated_join() joins the board.  coordinated_begin(), right before the program runs or goes on, makes the rank
 * visible to others. */
void coordinated_join(void);
void coordinated_begin(void);
/* A checkpoint is wanted: told by a signal, by the timer, or by the program. */
void coordinated_want(void);
void coordinated_told(bool by_timer);
/* Safe points of a program with callbacks: see base/mode.h. */
bool coordinated_point(void);
void coordinated_called(bool whole);
/* The calling thread is at rest: stays here until the checkpoint is taken, if one is wanted and others need nothing of
 * this rank.  uc: the program's registers; NULL: it stands before the present call.  `complete` (or NULL) says that the
 * call has what it waits for.  True: it has been held. */
bool coordinated_hold(const ucontext_t *uc, bool (*complete)(void *), void *arg);
/* The same for event_answered().  uc NULL: holds at the trap on return. */
void coordinated_at_event(ucontext_t *uc);
void coordinated_at_trap(ucontext_t *uc);
/* The program ends or is replaced; or this is a forked child, which is no rank. */
void coordinated_gone(void);
void coordinated_forked(void);
/* The calling thread enters a call of a library that may wait for other ranks, or leaves it. */
void coordinated_away(bool away);
struct board *coordinated_board(void); /* NULL: none */
/* The newest checkpoint of this rank, also in its child processes and their programs; 0: none. */
uint64_t coordinated_newest(void);
/* Is a checkpoint wanted?  Reads the board. */
bool coordinated_due(void);

#define STATE_MAGIC 0x657461746262646cull
#define STATE_VERSION 15
struct state_head {
	uint64_t magic;
	uint32_t version, check; /* crc32c_data of all of the file, with 0 in its place */
	uint64_t number;
	uint64_t sockets;                /* number of sockets for which the ranks meet: rdb/live/from_checkpoint.py */
	uint64_t library_len, files_len; /* what follows: of the MPI library, then open files, */
	uint64_t timers_len;             /* then timers of timer_create(2), */
	uint64_t signals_len;            /* signals that the program has not got yet, */
	uint64_t threads_len;            /* threads, */
	uint64_t scheduling_len;         /* what processors and priorities they have asked for, */
	uint64_t attributes_len;         /* limits and settings of prctl(2), */
	uint64_t shared_len;             /* and memory that is mapped shared (own_shared.h) */
	uint8_t timers[96];
	struct clocks_then clocks;
	int32_t parent, group, session, reserved; /* of the process, as the program knows them */
};

/* What an image does not keep of a thread. */
struct state_thread {
	uint32_t number, reserved;
	char name[16];      /* PR_SET_NAME */
	uint64_t waited_ns; /* how long it has waited in the call before which it stands; 0: it stands before none */
	uint64_t done;      /* bytes that this call has written or read so far */
	int64_t processor_ns;
};
