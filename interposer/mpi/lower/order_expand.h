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

#endif
