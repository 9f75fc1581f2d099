#include "live/tree_sockets.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "live/live.h"
#include "live/tree.h"
#include "live/tree_share.h"
#include "process/descriptors.h"
#include "process/io.h"
#include "process/pids.h"
#include "process/private_file.h"
#include "replay/replay.h"

enum { PATIENCE_MS = 5000, LOOK_MS = 100, NUMBERED = 1u << 31 };

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
};

static struct {
	struct told *told; /* of all */
	unsigned ntold;
	struct end *ends; /* of each told: the first with this key and side has its end */
	int door;
} at_cut;

static bool same_end(const struct sock *a, const struct sock *b)
{
	return a->second == b->second && !strcmp(a->key, b->key);
}

void tree_socket_named(struct sock *s)
{
	snprintf(s->key, sizeof(s->key), "of %s at %lu", lower.opt.process, (unsigned long)replay_record()->event);
}

/* FNV-1a: of what leaves that end.  Streams of pipes have small numbers. */
static uint32_t stream_from(const struct sock *s, bool second)
{
	uint32_t hash = 2166136261u;
	for (const char *c = s->key; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 16777619u;
	return NUMBERED | ((hash ^ second) * 16777619u);
}

void tree_socket_moved(const struct sock *s, const void *bytes, uint64_t len, bool writing)
{
	if (s->type == SOCK_STREAM || s->state == SOCKET_PAIRED)
		tree_stream_moved(stream_from(s, writing == s->second), bytes, len, writing);
}

/* ---- from one program to another ---- */

bool tree_sockets_hand_on(int fd)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < SOCKETS; i++)
		n = sockets[i].used ? i + 1 : n;
	const size_t len = n * sizeof(*sockets);
	return write(fd, &n, sizeof(n)) == sizeof(n) && write(fd, sockets, len) == (ssize_t)len;
}

bool tree_sockets_inherit(int fd)
{
	uint32_t n;
	if (read(fd, &n, sizeof(n)) != sizeof(n) || n > SOCKETS ||
	    read(fd, sockets, n * sizeof(*sockets)) != (ssize_t)(n * sizeof(*sockets)))
		return false;
	for (struct sock *s = sockets; s < sockets + n; s++) {
		s->other = NULL;
		s->tail = NULL;
		s->tail_len = s->tail_room = 0;
	}
	return true;
}

/* ---- what each has ---- */

static struct opened *opened_of(const struct sock *s)
{
	for (struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (socket_of(f) == s)
			return f;
	return NULL;
}

static void put(const char *name, const void *bytes, size_t len)
{
	char path[4200];
	snprintf(path, sizeof(path), "%s/%s", lower.opt.tree, name);
	int fd = private_create(AT_FDCWD, path, O_WRONLY | O_EXCL);
	int rc = fd < 0 ? fd : io_write_all(fd, bytes, len, 0, 1 << 20);
	if (rc)
		live_refuse("%s: %s", path, strerror(-rc));
	close(fd);
}

static int keep(int fd)
{
	const int kept = fd < 0 ? -errno : lower_fd(fd);
	if (kept < 0)
		live_refuse("a socket of its processes cannot be made: %s", strerror(-kept));
	return kept;
}

/* Where the first process is found by those that have sockets. */
static void open_door(void)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	socklen_t len = sizeof(un);
	at_cut.door = keep(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
	if (bind(at_cut.door, (void *)&un, sizeof(sa_family_t)) || getsockname(at_cut.door, (void *)&un, &len) ||
	    listen(at_cut.door, (int)pids()->n))
		live_refuse("no place where its sockets can be passed on: %s", strerror(errno));
	put("sockets-door", &un, len);
}

static unsigned own_number(void)
{
	return (unsigned)atoi(lower.opt.process);
}

void tree_sockets_tell(bool ended)
{
	static struct told list[SOCKETS];
	char name[64];
	unsigned n = 0;
	for (const struct sock *s = sockets; s < sockets + SOCKETS; s++) {
		const struct opened *f = ended ? NULL : opened_of(s);
		if (!s->used)
			continue;
		list[n] = (struct told){.sock = *s, .process = own_number(), .held = f && !s->closed};
		list[n].set = f && f->set;
		list[n++].flags = f ? f->flags & O_NONBLOCK : 0;
	}
	if (own_number() == 0)
		open_door();
	if (!n)
		return;
	snprintf(name, sizeof(name), "sockets-%u", own_number());
	put(name, list, n * sizeof(*list));
}

/* ---- the first process ---- */

static void read_told(int folder, const char *name)
{
	struct stat st;
	int fd = descriptor_open(folder, name, O_RDONLY, 0);
	if (fd < 0 || fstat(fd, &st))
		live_refuse("%s cannot be read", name);
	const size_t n = (size_t)st.st_size / sizeof(struct told);
	struct told *more = realloc(at_cut.told, (at_cut.ntold + n) * sizeof(*more));
	if (!more || read(fd, more + at_cut.ntold, n * sizeof(*more)) != st.st_size)
		live_refuse("%s cannot be read", name);
	at_cut.told = more;
	at_cut.ntold += (unsigned)n;
	close(fd);
}

static void read_all(void)
{
	struct dirent *entry;
	DIR *folder = opendir(lower.opt.tree);
	while (folder && (entry = readdir(folder)))
		if (!strncmp(entry->d_name, "sockets-", 8) && strcmp(entry->d_name, "sockets-door"))
			read_told(dirfd(folder), entry->d_name);
	if (!folder)
		live_refuse("%s: %s", lower.opt.tree, strerror(errno));
	closedir(folder);
}

static struct end *end_like(const struct sock *s, bool second)
{
	struct sock like = {.second = second};
	memcpy(like.key, s->key, sizeof(like.key));
	for (unsigned i = 0; i < at_cut.ntold; i++)
		if (same_end(&at_cut.told[i].sock, &like))
			return &at_cut.ends[i];
	return NULL;
}

static void join(void)
{
	at_cut.ends = calloc(at_cut.ntold + 1ul, sizeof(*at_cut.ends));
	if (!at_cut.ends)
		live_refuse("no memory for its sockets");
	for (const struct told *t = at_cut.told; t < at_cut.told + at_cut.ntold; t++) {
		struct end *e = end_like(&t->sock, t->sock.second);
		if (!e->first || (t->held && !e->held)) {
			e->first = t;
			e->flags = e->set ? e->flags : t->flags;
		}
		if (t->set && e->set && e->flags != t->flags)
			live_refuse("several of its processes have set the flags of one socket, with fcntl(2)");
		e->flags = t->set ? t->flags : e->flags;
		e->set |= t->set;
		e->held |= t->held;
		e->shut |= t->sock.write_shut;
	}
	for (unsigned i = 0; i < at_cut.ntold; i++)
		for (unsigned j = 0; j < i; j++) {
			const struct sock *a = &at_cut.told[i].sock, *b = &at_cut.told[j].sock;
			if (strcmp(a->key, b->key) && (stream_from(a, false) == stream_from(b, false) ||
						       stream_from(a, false) == stream_from(b, true)))
				live_refuse("its sockets cannot be told apart: choose another event");
		}
}

static bool connected(const struct sock *s)
{
	return s->state == SOCKET_CONNECTS || s->state == SOCKET_ACCEPTED || s->state == SOCKET_PAIRED;
}

/* Both ends over the loopback device. */
static void internet_pair(int ends[2])
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(in);
	const int door = keep(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	ends[0] = keep(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	struct sockaddr_in own = in, peer;
	socklen_t own_len = sizeof(own), peer_len = sizeof(peer);
	if (bind(door, (void *)&in, sizeof(in)) || listen(door, 1) || getsockname(door, (void *)&in, &len) ||
	    bind(ends[0], (void *)&own, sizeof(own)) || getsockname(ends[0], (void *)&own, &own_len) ||
	    connect(ends[0], (void *)&in, sizeof(in)))
		live_refuse("a connection of its processes cannot be made again: %s", strerror(errno));
	do {
		peer_len = sizeof(peer);
		ends[1] = keep(accept4(door, (void *)&peer, &peer_len, SOCK_CLOEXEC));
		if (peer.sin_port != own.sin_port)
			lower_fd_close(ends[1]);
	} while (peer.sin_port != own.sin_port);
	lower_fd_close(door);
}

static void fill(const struct end *e, int fd)
{
	const struct sock *s = &e->first->sock;
	uint8_t *whole, *from;
	size_t left = tree_stream_left(stream_from(s, s->second), &whole, &from);
	if (left && s->type != SOCK_STREAM)
		live_refuse("messages are under way between its processes, in sockets of another kind than streams");
	while (left) {
		struct pollfd one = {.fd = fd, .events = POLLOUT};
		ssize_t n = poll(&one, 1, PATIENCE_MS) == 1 ? send(fd, from, left, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
		if (n <= 0)
			live_refuse("a socket of its processes does not take the %zu bytes that were under way", left);
		from += n;
		left -= (size_t)n;
	}
	free(whole);
	if (e->shut)
		shutdown(fd, SHUT_WR);
	if (s->read_shut && e->held)
		shutdown(fd, SHUT_RD);
}

/* A connection that nobody had accepted: it comes to who listens again. */
static void connect_again(struct end *e)
{
	const struct sock *s = &e->first->sock;
	e->fd = keep(socket(s->family, s->type | SOCK_CLOEXEC, s->protocol));
	if (connect(e->fd, (const void *)&s->target, s->target_len))
		live_refuse("a connection that one of its processes had made cannot be made again: %s",
			    strerror(errno));
}

static void make_pair(struct end *e, struct end *far)
{
	const struct sock *s = &e->first->sock;
	int ends[2];
	if (s->family != AF_UNIX) {
		internet_pair(ends);
	} else {
		if (socketpair(AF_UNIX, s->type | SOCK_CLOEXEC, 0, ends))
			live_refuse("a pair of sockets: %s", strerror(errno));
		ends[0] = keep(ends[0]);
		ends[1] = keep(ends[1]);
	}
	e->fd = ends[s->second];
	far->fd = ends[!s->second];
}

static void make_one(struct end *e)
{
	struct sock s = e->first->sock;
	struct end *far = end_like(&s, !s.second);
	if (!connected(&s)) {
		s.made = 0;
		socket_alone(&s);
		e->fd = s.made;
		return;
	}
	if (!far && s.state == SOCKET_CONNECTS)
		connect_again(e);
	else if (!far)
		live_refuse("one of its sockets is connected to a process that is not of the program (%s)", s.key);
	else if (!e->fd)
		make_pair(e, far);
}

static void make_all(void)
{
	for (int listening = 1; listening >= 0; listening--) /* they must be there before who connects */
		for (unsigned i = 0; i < at_cut.ntold; i++) {
			struct end *e = &at_cut.ends[i];
			if (e->held && (e->first->sock.state == SOCKET_LISTENS) == listening && !e->fd)
				make_one(e);
		}
	for (unsigned i = 0; i < at_cut.ntold; i++) {
		const struct end *e = &at_cut.ends[i];
		if (!e->fd || !connected(&e->first->sock))
			continue;
		const struct end *far = end_like(&e->first->sock, !e->first->sock.second);
		if (far && !far->held)
			continue;
		socket_options(&e->first->sock, e->fd);
		fill(e, e->fd);
	}
	for (unsigned i = 0; i < at_cut.ntold; i++) {
		const struct end *e = &at_cut.ends[i];
		if (e->fd && e->held && fcntl(e->fd, F_SETFL, (int)e->flags))
			live_refuse("a socket of its processes: %s", strerror(errno));
	}
}

static void pass_on(int to, unsigned process)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr head;
	} control = {0};
	for (const struct told *t = at_cut.told; t < at_cut.told + at_cut.ntold; t++) {
		struct iovec part = {.iov_base = &control, .iov_len = 1};
		struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes};
		if (t->process != process || !t->held)
			continue;
		m.msg_controllen = sizeof(control.bytes);
		control.head = (struct cmsghdr){
			.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.head), &end_like(&t->sock, t->sock.second)->fd, sizeof(int));
		if (sendmsg(to, &m, MSG_NOSIGNAL) != 1)
			live_refuse("a socket cannot be passed to one of its processes: %s", strerror(errno));
	}
}

/* Which of the processes has come; -1: none of them. */
static int who_comes(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	for (uint32_t i = 0; !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) && i < pids()->n; i++)
		if (pids()->list[i].now == peer.pid)
			return (int)i;
	return -1;
}

static void serve(void)
{
	unsigned waits = 0;
	for (unsigned i = 0; i < at_cut.ntold; i++) {
		bool again = !at_cut.told[i].process || !at_cut.told[i].held;
		for (unsigned j = 0; j < i; j++)
			again |= at_cut.told[j].process == at_cut.told[i].process && at_cut.told[j].held;
		waits += !again;
	}
	while (waits) {
		struct pollfd one = {.fd = at_cut.door, .events = POLLIN};
		if (tree_is_refused())
			_exit(125);
		if (poll(&one, 1, LOOK_MS) != 1)
			continue;
		const int fd = keep(accept4(at_cut.door, NULL, NULL, SOCK_CLOEXEC));
		const int process = who_comes(fd);
		if (process > 0) {
			pass_on(fd, (unsigned)process);
			waits--;
		}
		lower_fd_close(fd);
	}
}

static void take_own(struct opened *f)
{
	const struct sock *s = socket_of(f);
	f->made = keep(fcntl(end_like(s, s->second)->fd, F_DUPFD_CLOEXEC, 0));
}

/* ---- the others ---- */

static int to_first(void)
{
	char path[4200];
	struct sockaddr_un un;
	snprintf(path, sizeof(path), "%s/sockets-door", lower.opt.tree);
	const int file = descriptor_open(AT_FDCWD, path, O_RDONLY, 0);
	const ssize_t len = file < 0 ? -1 : read(file, &un, sizeof(un));
	close(file);
	const int fd = keep(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
	if (len <= 0 || connect(fd, (void *)&un, (socklen_t)len))
		live_refuse("its sockets cannot be had from the first process: %s", strerror(errno));
	return fd;
}

static int take_one(int from)
{
	char byte;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr head;
	} control;
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes};
	struct pollfd one = {.fd = from, .events = POLLIN};
	int fd;
	while (poll(&one, 1, LOOK_MS) != 1)
		if (tree_is_refused())
			_exit(125);
	m.msg_controllen = sizeof(control.bytes);
	if (recvmsg(from, &m, MSG_CMSG_CLOEXEC) != 1 || m.msg_controllen < CMSG_LEN(sizeof(int)) ||
	    control.head.cmsg_type != SCM_RIGHTS)
		live_refuse("its sockets cannot be had from the first process");
	memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
	return keep(fd);
}

void tree_sockets_make(void)
{
	int from = -1;
	if (own_number() == 0) {
		read_all();
		join();
		make_all();
		serve();
	}
	for (const struct sock *s = sockets; s < sockets + SOCKETS; s++) {
		struct opened *f = s->used && !s->closed ? opened_of(s) : NULL;
		if (!f)
			continue;
		if (own_number() == 0) {
			take_own(f);
			continue;
		}
		from = from < 0 ? to_first() : from;
		f->made = take_one(from);
	}
	if (from >= 0)
		lower_fd_close(from);
	for (unsigned i = 0; i < at_cut.ntold; i++)
		if (at_cut.ends[i].fd)
			lower_fd_close(at_cut.ends[i].fd);
	if (own_number() == 0)
		lower_fd_close(at_cut.door);
}
