/* The program's sockets on the way to a cut: what they are, who is at the other end, what was written to them. */
#pragma once
#include <sys/socket.h>
#include "crossing/event.h"
#include "interface/host.h"
#include "restart/base/open_table.h"

enum { SOCKETS = 1024, SOCKET_OPTIONS = 12, SOCKET_TAIL = 16 << 20, SOCKET_KEY = 320 };

enum socket_state { SOCKET_FRESH, SOCKET_LISTENS, SOCKET_CONNECTS, SOCKET_ACCEPTED, SOCKET_PAIRED };

struct sock {
	bool used, closed; /* closed: by the program, but the peer may not have read all */
	int family, type, protocol;
	enum socket_state state;
	char key[SOCKET_KEY];                  /* of a connection: the same at both ends, and unique */
	struct sockaddr_storage local, target; /* target: of a connection that is being made */
	socklen_t local_len, target_len;
	int backlog;
	uint64_t since_ns; /* when it connected */
	uint64_t read, written;
	uint8_t *tail; /* the last bytes that were written */
	size_t tail_len, tail_room;
	bool write_shut, read_shut; /* without a log, read_shut: the other end is closed */
	unsigned flags;             /* O_NONBLOCK at the cut */
	struct {
		int level, name;
		socklen_t len;
		uint8_t value[64];
	} options[SOCKET_OPTIONS];
	unsigned noptions;
	bool second;        /* which end it is: true for the one that accepted, or the second of a pair */
	struct sock *other; /* SOCKET_PAIRED */
	int made;           /* the new one; 0: none yet */
	uint64_t left;      /* bytes that were written again to it */
	bool named_again;   /* the key names the new connection */
};
extern struct sock sockets[SOCKETS];

/* A system call of sockets that the log has answered.  False: it is none of them. */
bool sockets_syscall(const struct event *ev);
void socket_moved(struct sock *s, const void *bytes, uint64_t len, bool writing);
/* No descriptor has it open any more. */
void socket_closed(struct opened *f);
struct sock *socket_of(const struct opened *f);
/* rendezvous.c: makes the sockets again, connects them with those of other ranks, and writes the bytes that were on the
 * way. */
void sockets_restore(void);
int socket_made(struct opened *f);
/* Makes a socket that needs no other process, or a pair. */
void socket_alone(struct sock *s);
void socket_options(const struct sock *s, int fd);
/* Prints an address and its port, for a key. */
void socket_print_address(char *out, size_t room, const void *address);
/* Names a connection alike at both ends: by what connect(2) or accept(2) found. */
void socket_name(struct sock *s, const struct rdb_note_socket *note);
/* rendezvous.c: names it by its present addresses, which the accepting process will find. */
void socket_name_again(struct sock *s);
/* sockets_begun.c: writes down what a branch begins with, for restarts of it.  Call it once all sockets are made,
 * before any is closed. */
void sockets_save(void);
/* False: the branch had none, or an older rdb has made it. */
bool sockets_load(void);
