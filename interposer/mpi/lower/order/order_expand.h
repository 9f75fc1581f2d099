/* Declarations that the files of a whole-job replay (order_expand.c) share: messages are sent and received again. */
#pragma once
#include "lower/core/requests.h"

enum { ORDER_EXCHANGED = RDB_NULL_ID };

/* Functions return NULL, or the reason of a failure. */

/* Sends a message.  copy: from a copy, since its buffer may change at once.  id: the program's request; 0: none, waits
 * for the send; ORDER_EXCHANGED: waited for when the receive of the same call is complete. */
const char *order_send(const void *buf, int count, struct vtype *type, int dest, int tag, struct vcomm *comm, bool copy,
		       uint32_t id);
/* The program's request of a send is complete: waits for the send, since the buffer may change now. */
void order_sent(uint32_t id);
/* Number of sends that are waited for with the program's request. */
extern unsigned order_sends_waited_for;
/* Waits for all sends. */
void order_drain(void);

/* Number of the receive that is posted now, as the log counts. */
uint64_t order_next(void);
/* Number of receives posted so far. */
uint64_t order_posted(void);
/* Whether there is such a receive that will be posted only when the log completes it. */
bool order_deferred(int source, int tag, const struct vcomm *comm);
/* Posts a receive, unless the log says that no message came or does not say which. */
const char *order_post(void *buf, int count, struct vtype *type, int source, int tag, struct vcomm *comm);
/* Posts the receive of a matched message; `order`: its number. */
const char *order_post_matched(void *buf, int count, struct vtype *type, uint64_t order);
/* Matches a message; *order: its number. */
const char *order_match(int source, int tag, struct vcomm *comm, uint64_t *order);
/* The log says that a receive is complete: waits for it and delivers its bytes. */
const char *order_receive(const struct rdb_note_recv *note);
/* A blocking receive; `note`: what the log says of it.  The send of the same call was made before. */
const char *order_receive_now(void *buf, int count, struct vtype *type, struct vcomm *comm,
			      const struct rdb_note_recv *note);
/* MPI_Sendrecv_replace; `note`: the message that was received, or NULL. */
const char *order_exchange(void *buf, int count, struct vtype *type, int dest, int tag, struct vcomm *comm,
			   const struct rdb_note_recv *note);

/* order_requests.c: persistent requests, by the calls that make, start and free them; */
uint32_t order_request_id(uint64_t upper);
void order_persistent_made(const char *name, const uint64_t *a);
const char *order_persistent_started(const char *name, const uint64_t *a);
void order_persistent_freed(uint64_t upper);
/* matched messages; order_message_asked() before the call that receives one, order_message_taken() after it; */
const char *order_message_matched(const char *name, const uint64_t *a);
void order_message_asked(uint64_t upper);
const char *order_message_taken(const uint64_t *a);
/* and nonblocking collectives.  says: the call makes objects, so it is noted. */
const char *order_collective_begin(unsigned index, uint32_t nargs, const uint64_t *a, bool says);
void order_collective_begun(uint64_t upper);
const char *order_collective_done(uint32_t id);

/* order_wait.c: waits until a request is complete, or `look` sets its flag.  what, peer (rank in MPI_COMM_WORLD), tag:
 * for reports of what the rank waits for. */
int order_wait(MPI_Request *real, MPI_Status *status, enum rdb_wait what, int peer, int tag);
int order_wait_until(int (*look)(void *, int *), void *arg, enum rdb_wait what, int peer, int tag);

/* order_pending.c: adds a receive with a wildcard that is not complete in the log. */
void order_pending_add(uint64_t number, int count, struct vtype *type, int source, int tag, struct vcomm *comm);
/* Whether one that was posted before receive `number` could match such a message. */
bool order_pending_before(uint64_t number, int source, int tag, const struct vcomm *comm);
/* That receive got the message: removes it.  False: there is none. */
bool order_pending_took(uint64_t number, int source, int tag, const struct vcomm *comm);
/* Called while the rank waits: gives them messages that no other receive gets. */
void order_pending_look(void);
/* Called before MPI_Finalize, the rank's or ours. */
void order_pending_end(void);

/* order_record.c: called before each call while recording; ends the process if a replay cannot make the call again. */
bool order_call(unsigned index, uint32_t nargs, const uint64_t *a);
/* Called after it, with the result of order_call(). */
void order_end(bool before);
/* Whether an argument is an operation of the program. */
bool order_own_operation(unsigned index, uint32_t nargs, const uint64_t *a);
/* Whether it is a blocking collective, or a call that computes from memory alone. */
bool order_collective(const char *name);
/* order_expand.c */
const char *plugin_expand(enum rdb_expand step, uint32_t fn, uint32_t nargs, const uint64_t *args,
			  struct rdb_recorded *recorded);
