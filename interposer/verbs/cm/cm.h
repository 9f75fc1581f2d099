/* The upper half's librdmacm.so.1: rdma-core's ABI over TCP sockets and libibverbs.
 *
 * It is part of the program: its sockets are the program's, and what comes through them is logged as for any other,
 * so nothing here is known below.  An RDMA port stands for a TCP port from 61000 on (port.c); both peers must have this
 * library.
 * rdma-core's man pages rdma_*(3) say what the functions do.
 */
#ifndef RDB_CM_H
#define RDB_CM_H
#include <errno.h>
#include <pthread.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "message.h"
#include "verbs/soft/list.h"

#define EXPORT __attribute__((visibility("default")))

struct cm_device {
	struct ibv_context *verbs;
	struct ibv_pd *pd; /* for those who bring none of their own */
	uint8_t max_reads, max_reads_for_peers;
};

struct cm_channel {
	struct rdma_event_channel channel; /* its descriptor: epoll over the sockets, and `wake` */
	int wake;                          /* readable while there are events */
	bool awake;
	struct list events;
};

enum cm_state {
	CM_IDLE,
	CM_BOUND,
	CM_ADDRESS, /* resolved */
	CM_ROUTE,
	CM_LISTENING,
	CM_EMBRYO,     /* a peer has connected, and not said what it wants yet */
	CM_CONNECTING, /* the socket */
	CM_PAUSING,    /* nobody listened: before it is tried again */
	CM_ASKED,      /* the peer */
	CM_ANSWERED,   /* by the peer; it waits for rdma_establish() */
	CM_WANTED,     /* by a peer: the program accepts or rejects */
	CM_ACCEPTED,   /* the peer does not know yet */
	CM_CONNECTED,
	CM_LEAVING, /* the peer was told */
	CM_OVER,
};

struct cm_id {
	struct rdma_cm_id id;
	struct cm_channel *channel;
	struct list link; /* in cm_ids */
	bool sync;        /* calls wait for their events */
	enum cm_state state;
	int fd;
	struct cm_device *device;
	unsigned sgid_index;
	union ibv_gid sgid;
	struct cm_id *listener;     /* of an embryo */
	struct cm_message in, peer; /* what is coming; what the peer asked, or answered */
	size_t got;
	struct rdma_conn_param own; /* of our side; its private data is not kept */
	uint8_t own_private[CM_PRIVATE];
	uint32_t psn, qkey;
	struct ibv_qp_init_attr *passive; /* of an endpoint that listens: for those who connect */
	bool own_cqs;
	unsigned given, acknowledged; /* events */
	unsigned refusals;
	bool bound; /* by the program: connections come from there */
};

struct cm_event {
	struct rdma_cm_event event;
	struct list link;
	uint8_t data[CM_PRIVATE];
};

/* One lock for all; cm_acked: an event was acknowledged. */
extern pthread_mutex_t cm_lock;
extern pthread_cond_t cm_acked;
extern struct list cm_ids;

static inline struct cm_id *cm_of(struct rdma_cm_id *id)
{
	return (struct cm_id *)id;
}

static inline struct cm_channel *cm_channel_of(struct rdma_event_channel *channel)
{
	return (struct cm_channel *)channel;
}

static inline int cm_fail(int error)
{
	errno = error;
	return -1;
}

/* device.c: chooses the device and the GID that a local address has.  0 or an errno value. */
int cm_device_for(struct cm_id *c, const struct sockaddr *local);
int cm_device_pd(struct cm_id *c);

/* events.c */
struct cm_event *cm_event_new(struct cm_id *c, enum rdma_cm_event_type type, int status);
void cm_event_put(struct cm_channel *ch, struct cm_event *e);
void cm_event_say(struct cm_id *c, enum rdma_cm_event_type type, int status);
void cm_events_forget(struct cm_id *c);
void cm_events_move(struct cm_id *c, struct cm_channel *to);
/* What a synchronous id's call comes to. */
int cm_complete(struct cm_id *c);

/* id.c */
struct cm_id *cm_id_new(struct cm_channel *ch, void *context, enum rdma_port_space ps);
void cm_id_free(struct cm_id *c);

/* multicast.c: of an id that goes. */
void cm_multicast_forget(const struct cm_id *c);

/* port.c: addresses, and sockets for them. */
socklen_t cm_address_len(const struct sockaddr *a);
/* A socket bound to where the RDMA address is; port 0: to one that is free, which is put into it. */
int cm_socket_bound(struct sockaddr *address);
/* Connects c->fd, a new socket, to c's destination.  0, also where it is on its way; or -1. */
int cm_socket_connect(struct cm_id *c);
/* Has the channel look at the id's socket. */
int cm_watch(struct cm_id *c, int op, uint32_t events);

/* socket.c: what sockets bring.  All of a channel's that are ready. */
void cm_sockets_ready(struct cm_channel *ch);
/* Goes on to connect; -1: it cannot. */
int cm_connect(struct cm_id *c);
int cm_send(struct cm_id *c, enum cm_kind kind, const struct rdma_conn_param *p, uint32_t status);

/* qp.c */
int cm_qp_to_rtr(struct cm_id *c);
int cm_qp_to_rts(struct cm_id *c);
void cm_qp_to_error(struct cm_id *c);
int cm_own_cqs(struct cm_id *c, struct ibv_qp_init_attr *attr);
void cm_address_of_peer(const struct cm_id *c, struct ibv_ah_attr *ah);

#endif
