/* The upper half's librdmacm.so.1: rdma-core's ABI over TCP sockets and libibverbs.
 *
 * It is part of the program: its sockets are ordinary sockets of the program, and their input is logged as such.  The
 * lower half knows nothing of this library.  An RDMA port is represented by a TCP port from 61000 on (port.c); both
 * peers must use this library.  rdma-core's man pages rdma_*(3) describe the functions.
 */
#pragma once
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
	struct ibv_pd *pd; /* for ids without a PD of the program; NULL: no id yet */
	uint8_t max_reads, max_reads_for_peers;
};

struct cm_channel {
	struct rdma_event_channel channel; /* its descriptor: epoll of the sockets and `wake` */
	int wake;                          /* eventfd, readable while there are events */
	bool awake;                        /* `wake` is readable */
	struct list events;
};

enum cm_state {
	CM_IDLE,
	CM_BOUND,
	CM_ADDRESS, /* resolved */
	CM_ROUTE,
	CM_LISTENING,
	CM_EMBRYO,     /* passive side: socket accepted, request not received yet */
	CM_CONNECTING, /* active side: the socket is connecting */
	CM_PAUSING,    /* active side: refused; waiting to connect again */
	CM_ASKED,      /* active side: request sent */
	CM_ANSWERED,   /* active side: reply received; waiting for rdma_establish() */
	CM_WANTED,     /* passive side: request received; the program accepts or rejects */
	CM_ACCEPTED,   /* passive side: reply sent */
	CM_CONNECTED,
	CM_PARTING, /* the peer has left; the program has not polled all that came before */
	CM_LEAVING, /* disconnect sent */
	CM_OVER,
};

struct cm_id {
	struct rdma_cm_id id;
	struct cm_channel *channel;
	struct list link; /* in cm_ids */
	bool sync;        /* synchronous: calls wait for their events; the channel is its own */
	enum cm_state state;
	int fd;
	struct cm_device *device;
	unsigned sgid_index;
	union ibv_gid sgid;
	struct cm_id *listener;     /* of an embryo */
	struct cm_message in, peer; /* in: message being received; peer: its request or reply */
	size_t got;                 /* bytes of `in` */
	struct rdma_conn_param own; /* our parameters; private data: own_private */
	uint8_t own_private[CM_PRIVATE];
	uint32_t psn, qkey;
	bool has_timeout; /* rdma_set_option(3), RDMA_OPTION_ID_ACK_TIMEOUT */
	uint8_t ack_timeout;
	struct ibv_qp_init_attr *passive; /* listening endpoint: attributes of the queue pairs it creates; or NULL */
	bool own_cqs;                     /* rdma_create_qp() has created its completion queues */
	unsigned given, acknowledged;     /* numbers of events */
	struct ibv_qp qp;                 /* a copy: the program may have destroyed its own */
	unsigned pauses;                  /* of CM_PAUSING or CM_PARTING */
	bool bound;                       /* the program has bound it; connections use this source address */
};

struct cm_event {
	struct rdma_cm_event event;
	struct list link;
	uint8_t data[CM_PRIVATE];
};

/* cm_lock protects everything in this library; cm_acked: an event was acknowledged. */
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

/* device.c: chooses the device, its domain and the GID of a local address.  0 or an errno value. */
int cm_device_for(struct cm_id *c, const struct sockaddr *local);

/* events.c */
struct cm_event *cm_event_new(struct cm_id *c, enum rdma_cm_event_type type, int status);
void cm_event_put(struct cm_channel *ch, struct cm_event *e);
void cm_event_say(struct cm_id *c, enum rdma_cm_event_type type, int status);
void cm_events_forget(struct cm_id *c);
void cm_events_move(struct cm_id *c, struct cm_channel *to);
/* Last step of a call: a synchronous id waits for the event and returns its status as 0 or -1 with errno. */
int cm_complete(struct cm_id *c);

/* id.c */
struct cm_id *cm_id_new(struct cm_channel *ch, void *context, enum rdma_port_space ps);
void cm_id_free(struct cm_id *c);

/* multicast.c: ends the memberships of an id that is being destroyed. */
void cm_multicast_forget(const struct cm_id *c);

/* port.c: addresses, and sockets for them. */
socklen_t cm_address_len(const struct sockaddr *a);
/* A socket bound to the TCP address of an RDMA address.  Port 0: chooses a free port and stores it in *address. */
int cm_socket_bound(struct sockaddr *address);
/* Connects c->fd, a new socket, to c's destination.  0 if it is connected or connecting, else -1. */
int cm_socket_connect(struct cm_id *c);
/* epoll_ctl() of the id's socket in its channel. */
int cm_watch(struct cm_id *c, int op, uint32_t events);

/* socket.c: handles all sockets of a channel that are ready. */
void cm_sockets_ready(struct cm_channel *ch);
/* Begins to connect; 0 or -1. */
int cm_connect(struct cm_id *c);
int cm_send(struct cm_id *c, enum cm_kind kind, const struct rdma_conn_param *p, uint32_t status);

/* qp.c */
int cm_qp_to_rtr(struct cm_id *c);
int cm_qp_to_rts(struct cm_id *c);
void cm_qp_to_error(struct cm_id *c);
void cm_address_of_peer(const struct cm_id *c, struct ibv_ah_attr *ah);
