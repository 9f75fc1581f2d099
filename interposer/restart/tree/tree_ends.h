/* In the first process of a tree, at the cut: the ends of all connections, put together from what each process has told
 * of its sockets (tree_sockets.h). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "restart/sockets/sockets.h"

/* What a process tells: one for each socket that it knew. */
struct told {
	struct sock sock; /* its pointers do not count */
	uint32_t process;
	bool held, set;
	unsigned flags;
};

/* One end of a connection, or a socket without another end. */
struct end {
	const struct told *first; /* the process's report that counts */
	bool held, shut;
	bool set;
	unsigned flags;
	int fd;
	uint8_t *left; /* bytes that it had written and the other end has not read */
	size_t left_len;
	bool again;       /* its connection had not been accepted: it connects to the listener again */
	struct sock *own; /* in the list of this process */
};

struct tree_ends {
	struct told *told; /* of all */
	unsigned n;
	struct end *list; /* one for each of `told`; the first with a key and side is used for that end */
};

/* tree_ends.c */
void tree_ends_gather(struct tree_ends *all);
/* The end of that key and side; NULL: no process knows it. */
struct end *tree_end_like(const struct tree_ends *all, const struct sock *s, bool second);
bool tree_end_connected(const struct end *e);
/* Does the end count: does a process hold one of both ends? */
bool tree_end_goes_on(const struct tree_ends *all, const struct end *e);
void tree_ends_close(struct tree_ends *all);
/* tree_ends_make.c: makes them, with what is left in them. */
void tree_ends_make(struct tree_ends *all);
/* tree_ends_begun.c: puts them all in the list of this process, under names that no later socket can have. */
void tree_ends_own(struct tree_ends *all);
/* tree_ends_pass.c.  tree_door_open(): opens a place where the first process can be found.  tree_ends_serve(): passes
 * each process what it holds. */
void tree_door_open(void);
void tree_ends_serve(const struct tree_ends *all);
/* In the other processes: takes a new socket in place of s.  *from is -1 at first. */
int tree_end_take(int *from, struct sock *s);
void tree_door_close(int from);
/* Moves a descriptor away from the program's, or refuses. */
int tree_socket_keep(int fd);
