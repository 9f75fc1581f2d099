/* Checkpoints that all ranks take together, without a log (interposer/restart/coordinated.h): this rank's part in MPI.
 * Collectives and messages are counted on the board; what is under way is drained into a queue here, from which later
 * receives are served first; together_state.c writes down what there is, and makes it again. */
#ifndef RDB_MPI_TOGETHER_H
#define RDB_MPI_TOGETHER_H
#include "real.h"

#include "restart/board.h"

extern bool together_on; /* there may be checkpoints */
extern bool drained_any; /* messages are in the queue */
/* Blocking sends that wait: their receivers may have counted them, the senders have not. */
extern unsigned together_sending;
/* The MPI_Sendrecv that the calling thread is in has sent. */
bool together_exchanged(void);
void together_exchange(bool sent);
extern const struct rdb_together together_calls;

/* After MPI_Init (and in a restart). */
void together_begin(void);
void together_mpi(enum board_mpi state);
void together_end(void);
void together_comm(struct vcomm *comm);
/* What the real call is to be given: `a`, or `changed`, of INSIDE_ARGUMENTS. */
const uint64_t *together_before(unsigned index, const uint64_t *a, uint64_t *changed);
void together_after(unsigned index, const uint64_t *a, int64_t result);
/* Until `complete` says so, or a checkpoint has been taken meanwhile and it says so. */
void together_until(bool (*complete)(void *), void *arg);
int together_wait(MPI_Request *real, MPI_Status *status);
static inline void together_sent(void);
static inline void together_received(void);

/* together_inside.c: blocking collectives in which this rank may be held, before others have begun them. */
enum { INSIDE_ARGUMENTS = 6 };
void inside_ready(struct board_slot *slot);
/* Collectives are counted by comm->together.  Returns what the real call is to be given. */
const uint64_t *inside_begin(unsigned index, const uint64_t *a, const struct vcomm *comm, uint64_t *changed);
void inside_end(int64_t result);

/* drained.c */
typedef int64_t together_invoke(unsigned index, const uint64_t *a);
/* A message of the queue answers the call, or a part of it. */
bool drained_call(unsigned index, const uint64_t *a, together_invoke *invoke, int64_t *result);
struct drained {
	struct drained *next;
	struct vcomm *comm;
	int source, tag;
	size_t bytes;
	char *data;
};
extern struct drained *drained_first;
void drained_take(struct vcomm *comm);
struct drained *drained_new(struct vcomm *comm, int source, int tag, const void *data, size_t bytes);
void drained_put(struct drained *one); /* into the queue */
void drained_free(struct drained *one);
/* The first that matches, by what the real MPI calls any source and tag; `take`: out of the queue, for the caller. */
struct drained *drained_probe(struct vcomm *comm, int source, int tag, bool take, MPI_Status *status);
MPI_Status drained_status(const struct drained *one);
int64_t drained_deliver(const struct drained *one, void *buf, int count, const struct vtype *type);
void drained_done(struct vreq *request, const struct drained *one);

/* matched.c: messages that the program has matched and not received.  A checkpoint takes those out of the network, too. */
extern unsigned messages_taken; /* so many */
void message_seen(struct vmessage *message, const MPI_Status *status);
void message_of_drained(void **upper, struct drained *one);
bool message_here(void *message); /* all of it */
unsigned messages_take(void);     /* how many are not here yet */
bool message_receive(const uint64_t *a, int64_t *result);
bool message_post(const uint64_t *a);
/* A request that is complete, with this status. */
int request_done(int source, int tag, int64_t bytes, bool cancelled, MPI_Request *real);

/* together_windows.c: what has been begun on windows, and what that lets wait. */
struct vwin;
void together_window(struct vwin *win, const struct vcomm *comm);
void together_window_gone(struct vwin *win);
void windows_called(unsigned index, const uint64_t *a);
void windows_answered(unsigned index, const uint64_t *a);
/* The exposure that the call asks about was closed at a checkpoint. */
extern bool windows_any_closed;
bool windows_closed(unsigned index, const uint64_t *a, int64_t *result);
bool windows_quiet(void);
void windows_complete(void);
/* A count on the board, new ones from 0; a name for what this communicator's ranks have just made. */
void together_count(uint64_t id);
void together_clock(uint64_t id);
/* All its ranks have begun to free it: nobody is behind in it any more. */
void together_forget(uint64_t id);
uint64_t together_name(const struct vcomm *comm);
/* Their ranks in MPI_COMM_WORLD; of an inter-communicator those of the local group.  To be freed. */
int *together_locals(const struct vcomm *comm);
/* Of a group's n members; -1: of another MPI_COMM_WORLD.  To be freed. */
int *together_members(MPI_Group group, int *n);

/* together_state.c */
int state_save(void **bytes, size_t *len);
const char *state_load(const void *bytes, size_t len);
/* plugin.c */
const char *plugin_alive(int level, const struct rdb_predef_table *upper);
const struct rdb_predef_table *tables_shown(void);
bool requests_have_orphans(void);
int op_again(struct vobject *op, void *function, void *caller, int commute);
void op_functions(const struct vobject *op, void **function, void **caller);

extern uint64_t *together_counts; /* sent, received: on the board */
static inline void together_sent(void)
{
	if (together_on)
		__atomic_add_fetch(&together_counts[0], 1, __ATOMIC_SEQ_CST);
}
static inline void together_received(void)
{
	if (together_on)
		__atomic_add_fetch(&together_counts[1], 1, __ATOMIC_SEQ_CST);
}
extern uint64_t together_salt; /* of communicators' names on the board: another one after each restart */

#endif
