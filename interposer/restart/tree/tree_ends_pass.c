/* The first process of a tree passes sockets on to the processes that hold them. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>
#include "restart/base/cut.h"
#include "restart/tree/tree_ends.h"
#include "base/descriptors.h"
#include "base/pids.h"
#include "restart/base/branch_file.h"

enum { LOOK_MS = 100 };

/* Sent with each socket: its present name. */
struct passed {
	char key[SOCKET_KEY];
};

union control {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr head;
};

static int door = -1;

void tree_door_open(void)
{
	char path[4200];
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	socklen_t len = sizeof(un);
	door = tree_socket_keep(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
	if (bind(door, (void *)&un, sizeof(sa_family_t)) || getsockname(door, (void *)&un, &len) ||
	    listen(door, (int)pids()->n))
		live_refuse("the first process cannot listen for the others to pass sockets to them: %s",
			    strerror(errno));
	snprintf(path, sizeof(path), "%s/sockets-door", lower.opt.tree);
	new_file(path, &un, len);
}

static void pass_on(const struct tree_ends *all, int to, unsigned process)
{
	union control control = {0};
	struct passed passed;
	for (const struct told *t = all->told; t < all->told + all->n; t++) {
		struct iovec part = {.iov_base = &passed, .iov_len = sizeof(passed)};
		struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes};
		if (t->process != process || !t->held)
			continue;
		const struct end *e = tree_end_like(all, &t->sock, t->sock.second);
		memcpy(passed.key, e->own->key, sizeof(passed.key));
		m.msg_controllen = sizeof(control.bytes);
		control.head = (struct cmsghdr){
			.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.head), &e->fd, sizeof(int));
		if (sendmsg(to, &m, MSG_NOSIGNAL) != sizeof(passed))
			live_refuse("a socket cannot be passed to one of its processes: %s", strerror(errno));
	}
}

/* The process that has connected; -1: none of the tree. */
static int who_comes(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	for (uint32_t i = 0; !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) && i < pids()->n; i++)
		if (pids()->list[i].now == peer.pid)
			return (int)i;
	return -1;
}

void tree_ends_serve(const struct tree_ends *all)
{
	unsigned waits = 0;
	for (unsigned i = 0; i < all->n; i++) {
		bool again = !all->told[i].process || !all->told[i].held;
		for (unsigned j = 0; j < i; j++)
			again |= all->told[j].process == all->told[i].process && all->told[j].held;
		waits += !again;
	}
	while (waits) {
		struct pollfd one = {.fd = door, .events = POLLIN};
		if (tree_is_refused())
			_exit(125);
		if (poll(&one, 1, LOOK_MS) != 1)
			continue;
		const int fd = tree_socket_keep(accept4(door, NULL, NULL, SOCK_CLOEXEC));
		const int process = who_comes(fd);
		if (process > 0) {
			pass_on(all, fd, (unsigned)process);
			waits--;
		}
		lower_fd_close(fd);
	}
}

static int to_first(void)
{
	char path[4200];
	struct sockaddr_un un;
	snprintf(path, sizeof(path), "%s/sockets-door", lower.opt.tree);
	const int file = descriptor_open(AT_FDCWD, path, O_RDONLY, 0);
	const ssize_t len = file < 0 ? -1 : read(file, &un, sizeof(un));
	close(file);
	const int fd = tree_socket_keep(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
	if (len <= 0 || connect(fd, (void *)&un, (socklen_t)len))
		live_refuse("its sockets cannot be received from the first process: %s", strerror(errno));
	return fd;
}

int tree_end_take(int *from, struct sock *s)
{
	*from = *from < 0 ? to_first() : *from;
	struct passed passed;
	union control control;
	struct iovec part = {.iov_base = &passed, .iov_len = sizeof(passed)};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes};
	struct pollfd one = {.fd = *from, .events = POLLIN};
	int fd;
	while (poll(&one, 1, LOOK_MS) != 1)
		if (tree_is_refused())
			_exit(125);
	m.msg_controllen = sizeof(control.bytes);
	if (recvmsg(*from, &m, MSG_CMSG_CLOEXEC) != sizeof(passed) || m.msg_controllen < CMSG_LEN(sizeof(int)) ||
	    control.head.cmsg_type != SCM_RIGHTS)
		live_refuse("its sockets cannot be received from the first process");
	memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
	memcpy(s->key, passed.key, sizeof(s->key));
	return tree_socket_keep(fd);
}

void tree_door_close(int from)
{
	if (from >= 0)
		lower_fd_close(from);
	if (door >= 0)
		lower_fd_close(door);
}
