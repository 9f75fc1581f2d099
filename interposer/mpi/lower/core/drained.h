/* Messages that a checkpoint has taken out of the network.  Later receives are served from their queue first. */
#pragma once
#include "lower/objects/bytes.h"

extern bool drained_any; /* messages are in the queue */
/* drained.c */
typedef int64_t coordinated_invoke(unsigned index, const uint64_t *a);
/* True: the call was answered with a message of the queue. */
bool drained_call(unsigned index, const uint64_t *a, coordinated_invoke *invoke, int64_t *result);
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
void drained_put(struct drained *one); /* appends it to the queue */
void drained_free(struct drained *one);
/* The first message that matches; source and tag are the real MPI's.  take: removes it from the queue; the caller frees
 * it. */
struct drained *drained_probe(struct vcomm *comm, int source, int tag, bool take, MPI_Status *status);
MPI_Status drained_status(const struct drained *one);
int64_t drained_deliver(const struct drained *one, void *buf, int count, struct vtype *type);
void drained_done(struct vreq *request, const struct drained *one, void *buf, int count);

/* matched.c: messages that the program has matched and not received.  A checkpoint takes them out of the network. */
extern unsigned messages_taken; /* number of these */
void message_seen(struct vmessage *message, const MPI_Status *status);
void message_of_drained(void **upper, struct drained *one);
bool message_here(void *message); /* whether all of it has arrived */
unsigned messages_take(void);     /* returns the number of those that have not arrived yet */
bool message_receive(const uint64_t *a, int64_t *result);
bool message_post(const uint64_t *a);
/* Saved in a checkpoint. */
void put_messages(struct bytes *out);
void get_messages(struct bytes *in);
void put_drained(struct bytes *out, const struct drained *one);
struct drained *get_drained(struct bytes *in);
