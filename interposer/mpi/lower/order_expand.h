/* Between the files of a whole-job replay (order_expand.c): messages that leave and arrive once more. */
#ifndef RDB_MPI_ORDER_EXPAND_H
#define RDB_MPI_ORDER_EXPAND_H
#include "requests.h"

enum { ORDER_EXCHANGED = RDB_NULL_ID };

/* A message leaves.  `copy`: its buffer may change at once; `id`: the program's request, 0: none, it is waited for,
 * ORDER_EXCHANGED: when the receive of the same call is complete. */
const char *order_send(const void *buf, int count, struct vtype *type, int dest, int tag, struct vcomm *comm, bool copy,
		       uint32_t id);
/* The program's request of a send is complete: its buffer may change. */
void order_sent(uint32_t id);
/* Is there a send whose request the program has to wait for? */
extern unsigned order_sends_waited_for;
/* All have left. */
void order_drain(void);

/* The next receive is posted: how the log counts it. */
uint64_t order_next(void);
/* How many have been. */
uint64_t order_posted(void);
/* Is there a posted receive that is left to its completion? */
bool order_deferred(int source, int tag, const struct vcomm *comm);
/* It is, if the log says that a message came. */
const char *order_post(void *buf, int count, struct vtype *type, int source, int tag, struct vcomm *comm);
/* The receive of a matched message, by its order. */
const char *order_post_matched(void *buf, int count, struct vtype *type, uint64_t order);
/* A message of which the log will say that it was matched now. */
const char *order_match(int source, int tag, struct vcomm *comm, uint64_t *order);
/* The log says that a receive is complete: its bytes reach the program. */
const char *order_receive(const struct rdb_note_recv *note);
/* A receive that blocks, with what the log says of it; `send` has been done already. */
const char *order_receive_now(void *buf, int count, struct vtype *type, struct vcomm *comm,
			      const struct rdb_note_recv *note);
/* MPI_Sendrecv_replace; `note`: what came, or NULL. */
const char *order_exchange(void *buf, int count, struct vtype *type, int dest, int tag, struct vcomm *comm,
			   const struct rdb_note_recv *note);

/* order_requests.c: the program's persistent requests, by the calls that make, start and free them; */
uint32_t order_request_id(uint64_t upper);
void order_persistent_made(const char *name, const uint64_t *a);
const char *order_persistent_started(const char *name, const uint64_t *a);
void order_persistent_freed(uint64_t upper);
/* messages that were matched, before the call that receives one and after it; */
const char *order_message_matched(const char *name, const uint64_t *a);
void order_message_asked(uint64_t upper);
const char *order_message_taken(const uint64_t *a);
/* and nonblocking collectives.  `says`: the call makes objects. */
const char *order_collective_begin(unsigned index, uint32_t nargs, const uint64_t *a, bool says);
void order_collective_begun(uint64_t upper);
const char *order_collective_done(uint32_t id);

/* order_wait.c: until a request is complete, or `look` says so; of `what` from or by `peer` in MPI_COMM_WORLD. */
int order_wait(MPI_Request *real, MPI_Status *status, enum rdb_wait what, int peer, int tag);
int order_wait_until(int (*look)(void *, int *), void *arg, enum rdb_wait what, int peer, int tag);

/* order_pending.c: a receive with a wildcard that is not complete in the log. */
void order_pending_add(uint64_t number, int count, struct vtype *type, int source, int tag, struct vcomm *comm);
/* Is one, posted before the `number`-th receive, there that such a message could be for? */
bool order_pending_before(uint64_t number, int source, int tag, const struct vcomm *comm);
/* It was.  False: there is none. */
bool order_pending_took(uint64_t number, int source, int tag, const struct vcomm *comm);
/* While the rank waits: have they got what nobody else gets? */
void order_pending_look(void);
/* Before MPI_Finalize, the rank's own or ours. */
void order_pending_end(void);

#endif
