/* The first process of a tree, at the cut: the ends of all connections, by what each process has told of its sockets
 * (tree_sockets.h). */
#ifndef RDB_TREE_ENDS_H
#define RDB_TREE_ENDS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "restart/sockets.h"

/* Of a process: one for each socket that it knew. */
struct told {
	struct sock sock; /* its pointers do not count */
	uint32_t process;
	bool held, set;
	unsigned flags;
};

/* One end of a connection, or a socket without another end. */
struct end {
	const struct told *first; /* who tells of it */
	bool held, shut;
	bool set;
	unsigned flags;
	int fd;
	uint8_t *left; /* what it had written, and was not read */
	size_t left_len;
	bool again;       /* its connection had not been accepted, and comes to who listens again */
	struct sock *own; /* in the list of this process */
};

struct tree_ends {
	struct told *told; /* of all */
	unsigned n;
	struct end *list; /* of each told: the first with this key and side has its end */
};

/* tree_ends.c */
void tree_ends_gather(struct tree_ends *all);
/* NULL: nobody knows it. */
struct end *tree_end_like(const struct tree_ends *all, const struct sock *s, bool second);
bool tree_end_connected(const struct end *e);
/* Does it count: has somebody one of both ends? */
bool tree_end_goes_on(const struct tree_ends *all, const struct end *e);
void tree_ends_close(struct tree_ends *all);
/* tree_ends_make.c: they are there, with what is left in them. */
void tree_ends_make(struct tree_ends *all);
/* tree_ends_begun.c: the list of this process has them all, under names that no later socket can have. */
void tree_ends_own(struct tree_ends *all);
/* tree_ends_pass.c: a place where the first process is found, before anybody looks for it; each gets what it has. */
void tree_door_open(void);
void tree_ends_serve(const struct tree_ends *all);
/* By the others: a new one in place of each; -1 at first. */
int tree_end_take(int *from, struct sock *s);
void tree_door_close(int from);
/* For files of the branch, and descriptors that stay. */
int tree_socket_keep(int fd);
unsigned tree_process(void);

#endif
