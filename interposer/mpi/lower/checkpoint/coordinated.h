/* Checkpoints of jobs without a log (interposer/restart/checkpoint/coordinated.h): this rank's part in MPI.
 * Collectives and messages are counted on the board.  Messages under way are drained into a queue, which serves later
 * receives first.  coordinated_state.c saves the program's MPI objects and makes them again. */
#pragma once
#include "lower/objects/observer.h"
#include "restart/checkpoint/board.h"

extern const struct rdb_coordinated coordinated_calls;

/* Called after MPI_Init, also in a restart. */
void coordinated_begin(void);
void coordinated_mpi(enum board_mpi state);
void coordinated_end(void);
void coordinated_comm(struct vcomm *comm);
/* Returns the arguments for the real call: `a`, or `changed`, which has room for all `nargs` of them. */
const uint64_t *coordinated_before(unsigned index, uint32_t nargs, const uint64_t *a, uint64_t *changed);
void coordinated_after(unsigned index, const uint64_t *a, int64_t result);
/* coordinated_inside.c: blocking collectives in which this rank may be held, before others have begun them. */
void inside_ready(struct board_slot *slot);
/* The present thread calls MPI. */
void inside_calls(void);
/* Returns the arguments for the real call, as coordinated_before().  Collectives are counted by comm->page_name. */
const uint64_t *inside_begin(unsigned index, uint32_t nargs, const uint64_t *a, const struct vcomm *comm,
			     uint64_t *changed);
void inside_end(int64_t result);

/* coordinated_windows.c: epochs of windows, and whether they let this rank be held. */
struct vwin;
void coordinated_window(struct vwin *win, const struct vcomm *comm);
void coordinated_window_gone(struct vwin *win);
void windows_called(unsigned index, const uint64_t *a);
void windows_answered(unsigned index, const uint64_t *a);
/* Answers MPI_Win_wait or MPI_Win_test of an exposure epoch that was closed at a checkpoint; false: another call. */
extern bool windows_any_closed;
bool windows_closed(unsigned index, const uint64_t *a, int64_t *result);
bool windows_quiet(void);
void windows_complete(void);
/* Increments a count on the board; a new one begins at 0. */
void coordinated_count(uint64_t id);
/* Adds a count to the board. */
void coordinated_clock(uint64_t id);
/* Removes the count of a communicator or window, and those of its pairs: all its ranks have begun to free it. */
void coordinated_forget(uint64_t name);
/* coordinated_freed.c: frees a communicator without waiting for the others. */
extern bool freed_there;
int freed_begin(uint64_t name, MPI_Comm comm);
/* The name of one that all its ranks have begun to free, once; 0: there is none. */
uint64_t freed_next(void);
void freed_end(void);
/* A new name for an object that all ranks of this communicator have just made. */
uint64_t coordinated_name(const struct vcomm *comm);
/* Ranks in MPI_COMM_WORLD of a communicator's members (local group).  The caller frees them. */
int *coordinated_locals(const struct vcomm *comm);
/* Ranks in MPI_COMM_WORLD of a group's n members; -1: in another MPI_COMM_WORLD.  The caller frees them. */
int *coordinated_members(MPI_Group group, int *n);

/* coordinated_state.c */
int state_save(void **bytes, size_t *len);
const char *state_load(const void *bytes, size_t len);
/* life.c: whether the program has initialized and finalized MPI. */
enum life { BEFORE_INIT, ALIVE, FINALIZED };
extern enum life life;
/* Initializes MPI in a restart.  NULL, or the reason of a failure. */
const char *life_again(int level, const struct rdb_predef_table *upper);
int64_t real_Finalize(const uint64_t *a);

extern uint64_t *coordinated_counts; /* on the board: messages sent, messages received */
extern uint64_t coordinated_salt;    /* part of the names on the board; differs after each restart */
