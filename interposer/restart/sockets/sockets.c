#include "restart/sockets/sockets.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include "restart/base/cut.h"
#include "restart/sockets/socket_streams.h"
#include "replay/replay.h"

#define A(i) (ev->args[i])

struct sock sockets[SOCKETS];

struct sock *socket_of(const struct opened *f)
{
	return f && f->kind == SOCKET ? &sockets[f->pipe] : NULL;
}

static struct sock *at(uint64_t fd)
{
	return socket_of(open_at(fd));
}

static struct sock *new_socket(int64_t fd, int family, int type, int protocol, enum socket_state state)
{
	struct sock *s = sockets;
	while (s < sockets + SOCKETS && s->used)
		s++;
	if (s == sockets + SOCKETS)
		live_refuse("it has more than %d sockets", SOCKETS);
	*s = (struct sock){.used = true,
			   .family = family,
			   .type = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC),
			   .protocol = protocol,
			   .state = state};
	struct opened *f = open_make(SOCKET, type & SOCK_NONBLOCK ? O_NONBLOCK : 0);
	f->pipe = (unsigned)(s - sockets);
	open_put(fd, f, type & SOCK_CLOEXEC);
	return s;
}

void socket_closed(struct opened *f)
{
	struct sock *s = socket_of(f);
	s->closed = true;
	if ((s->state == SOCKET_FRESH || s->state == SOCKET_LISTENS) && s->used)
		s->used = false;
}

/* ---- who is at the other end ---- */

void socket_print_address(char *out, size_t room, const void *address)
{
	const struct sockaddr_in *four = address;
	const struct sockaddr_in6 *six = address;
	char text[INET6_ADDRSTRLEN] = "?";
	if (four->sin_family == AF_INET)
		inet_ntop(AF_INET, &four->sin_addr, text, sizeof(text));
	else if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
		inet_ntop(AF_INET, six->sin6_addr.s6_addr + 12, text, sizeof(text));
	else
		inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof(text));
	snprintf(out, room, "%s/%d", text, ntohs(four->sin_port));
}

static void path_of(char out[128], const uint8_t *address, uint16_t len)
{
	size_t from = offsetof(struct sockaddr_un, sun_path), n = 0;
	for (; from < len && n < 120; from++)
		if (address[from])
			out[n++] = (char)(address[from] > ' ' ? address[from] : '_');
		else if (n)
			break;
		else
			out[n++] = '@';
	out[n] = 0;
}

/* The same as in rdb/live/sockets.py. */
void socket_name(struct sock *s, const struct rdb_note_socket *note)
{
	char local[96], peer[96], path[128];
	const bool connects = s->state == SOCKET_CONNECTS;
	if (s->family != AF_UNIX) {
		socket_print_address(local, sizeof(local), note->local);
		socket_print_address(peer, sizeof(peer), note->peer);
		snprintf(s->key, sizeof(s->key), "%s>%s", connects ? local : peer, connects ? peer : local);
		return;
	}
	unsigned nth = 0;
	char prefix[160];
	path_of(path, connects ? note->peer : note->local, connects ? note->peer_len : note->local_len);
	size_t len = (size_t)snprintf(prefix, sizeof(prefix), "unix:%d:%s:", note->pid, path);
	for (const struct sock *o = sockets; o < sockets + SOCKETS; o++)
		if (o->used && o != s && o->state == s->state && !strncmp(o->key, prefix, len))
			nth++;
	snprintf(s->key, sizeof(s->key), "%s%u", prefix, nth);
}

static const struct rdb_note_socket *noted(void)
{
	size_t len = 0;
	const struct rdb_note_socket *note = log_note(replay_record(), RDB_NOTE_SOCKET, &len);
	if (!note || len != sizeof(*note))
		live_refuse("the recording does not say which process was at the other end of one of its sockets: "
			    "record the program again");
	return note;
}

static void connects(const struct event *ev, struct sock *s)
{
	if (s->type == SOCK_DGRAM) { /* no connection: only where its datagrams go, as getaddrinfo(3) asks for */
		const bool none = ((const struct sockaddr *)A(1))->sa_family == AF_UNSPEC;
		s->target_len = none || A(2) > sizeof(s->target) ? 0 : (socklen_t)A(2);
		memcpy(&s->target, (const void *)A(1), s->target_len);
		return;
	}
	const struct rdb_note_socket *note = noted();
	s->state = SOCKET_CONNECTS;
	s->since_ns = replay_now_ns();
	memcpy(&s->target, note->peer, note->peer_len);
	s->target_len = note->peer_len;
	socket_name(s, note);
}

static void accepted(const struct event *ev, const struct sock *from)
{
	const struct rdb_note_socket *note = noted();
	int type = from->type | (ev->nr == SYS_accept4 ? (int)A(3) : 0);
	struct sock *s = new_socket(ev->result, from->family, type, from->protocol, SOCKET_ACCEPTED);
	s->second = true;
	socket_name(s, note);
}

static void option(const struct event *ev, struct sock *s)
{
	unsigned i = 0;
	if (A(4) > sizeof(s->options[0].value))
		live_refuse("it has set socket option %d to a value that is too long", (int)A(2));
	while (i < s->noptions && !(s->options[i].level == (int)A(1) && s->options[i].name == (int)A(2)))
		i++;
	if (i == SOCKET_OPTIONS)
		live_refuse("it has set more than %d options of a socket", SOCKET_OPTIONS);
	s->noptions = i == s->noptions ? i + 1 : s->noptions;
	s->options[i].level = (int)A(1);
	s->options[i].name = (int)A(2);
	s->options[i].len = (socklen_t)A(4);
	memcpy(s->options[i].value, (const void *)A(3), A(4));
}

/* ---- bytes ---- */

void socket_moved(struct sock *s, const void *bytes, uint64_t len, bool writing)
{
	if (tree()) {
		socket_stream_moved(s, bytes, len, writing);
		return;
	}
	if (!writing) {
		s->read += len;
		return;
	}
	s->written += len;
	if (s->tail_len + len > s->tail_room) {
		size_t room = 2 * (s->tail_len + len);
		if (s->tail_len > SOCKET_TAIL) { /* no kernel has more bytes on the way than that */
			memmove(s->tail, s->tail + s->tail_len - SOCKET_TAIL, SOCKET_TAIL);
			s->tail_len = SOCKET_TAIL;
		}
		s->tail = realloc(s->tail, room);
		if (!s->tail)
			live_refuse("out of memory for what was written to a socket");
		s->tail_room = room;
	}
	memcpy(s->tail + s->tail_len, bytes, len);
	s->tail_len += len;
}

static void message(const struct event *ev, struct sock *s, const struct msghdr *m, uint64_t left, bool writing)
{
	if (m->msg_control && m->msg_controllen)
		for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR((struct msghdr *)m, c))
			if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
				live_refuse("it has passed descriptors through a socket");
	for (size_t i = 0; i < m->msg_iovlen && left; i++) {
		uint64_t n = m->msg_iov[i].iov_len < left ? m->msg_iov[i].iov_len : left;
		socket_moved(s, m->msg_iov[i].iov_base, n, writing);
		left -= n;
	}
}

/* The kernel chose the port (bind(2) of port 0), and the program learns it here. */
static void told(struct sock *s, const void *name, socklen_t len)
{
	if (s->state == SOCKET_FRESH && s->family != AF_UNIX && s->local_len && s->local_len == len)
		memcpy(&s->local, name, len);
}

bool sockets_syscall(const struct event *ev)
{
	struct sock *s = at(A(0));
	switch (ev->nr) {
	case SYS_socket:
		if (A(0) != AF_INET && A(0) != AF_INET6 && A(0) != AF_UNIX)
			return false;
		s = new_socket(ev->result, (int)A(0), (int)A(1), (int)A(2), SOCKET_FRESH);
		if (tree())
			socket_stream_named(s);
		return true;
	case SYS_socketpair: {
		const int *fds = (const int *)A(3);
		struct sock *a = new_socket(fds[0], (int)A(0), (int)A(1), (int)A(2), SOCKET_PAIRED);
		struct sock *b = new_socket(fds[1], (int)A(0), (int)A(1), (int)A(2), SOCKET_PAIRED);
		a->other = b;
		b->other = a;
		b->second = true;
		if (tree()) {
			socket_stream_named(a);
			memcpy(b->key, a->key, sizeof(b->key));
		}
		return true;
	}
	default: break;
	}
	if (!s)
		return false;
	switch (ev->nr) {
	case SYS_connect: connects(ev, s); break;
	case SYS_accept:
	case SYS_accept4: accepted(ev, s); break;
	case SYS_bind:
		s->local_len = A(2) < sizeof(s->local) ? (socklen_t)A(2) : 0;
		memcpy(&s->local, (const void *)A(1), s->local_len);
		break;
	case SYS_getsockname: told(s, (const void *)A(1), *(const socklen_t *)A(2)); break;
	case SYS_listen: {
		const struct rdb_note_socket *note = noted();
		s->state = SOCKET_LISTENS;
		s->backlog = (int)A(1);
		s->local_len = note->local_len;
		memcpy(&s->local, note->local, note->local_len);
		break;
	}
	case SYS_setsockopt: option(ev, s); break;
	case SYS_shutdown:
		s->write_shut |= A(1) != SHUT_RD;
		s->read_shut |= A(1) != SHUT_WR;
		break;
	case SYS_recvfrom:
		if (!(A(3) & MSG_PEEK))
			socket_moved(s, (const void *)A(1), (uint64_t)ev->result, false);
		break;
	case SYS_sendto: socket_moved(s, (const void *)A(1), (uint64_t)ev->result, true); break;
	case SYS_recvmsg:
		if (!(A(2) & MSG_PEEK))
			message(ev, s, (const void *)A(1), (uint64_t)ev->result, false);
		break;
	case SYS_sendmsg: message(ev, s, (const void *)A(1), (uint64_t)ev->result, true); break;
	case SYS_sendmmsg:
	case SYS_recvmmsg:
		for (int64_t i = 0; i < ev->result; i++) {
			const struct mmsghdr *m = (const struct mmsghdr *)A(1) + i;
			message(ev, s, &m->msg_hdr, m->msg_len, ev->nr == SYS_sendmmsg);
		}
		break;
	default: return false;
	}
	return true;
}
