/* getsockopt(2), tcp(7), unix(7): what a socket is; recv(2), MSG_PEEK: what has come in it. */
#include "restart/sockets/kernel_sockets.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <linux/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "restart/base/cut.h"
#include "restart/sockets/sockets.h"
#include "restart/sockets/unix_peers.h"
#include "restart/sockets/unread.h"

enum {
	ESTABLISHED = 1,
	SYN_SENT,
	SYN_RECV,
	FIN_WAIT1,
	FIN_WAIT2,
	TIME_WAIT,
	CLOSED,
	CLOSE_WAIT,
	LAST_ACK,
	LISTENING,
	CLOSING
};

#ifndef SO_BUF_LOCK
#define SO_BUF_LOCK 72 /* Linux 5.14 */
#endif

static struct {
	int fd[SOCKETS]; /* one descriptor of each */
	unsigned n;
	char why[SOCKET_KEY + 128];
} look;

/* As written for restarts: the socket, and so many bytes that were not read. */
struct saved_socket {
	uint32_t size, other; /* sizeof(struct sock); SOCKETS: none */
	uint64_t len;
	struct sock sock; /* its pointers do not count */
};

void kernel_sockets_begin(void)
{
	for (struct sock *s = sockets; s < sockets + SOCKETS; s++)
		s->used = false;
	look.n = 0;
}

unsigned kernel_sockets_count(void)
{
	return look.n;
}

static const char *cannot(int fd, const char *what)
{
	snprintf(look.why, sizeof(look.why), "its descriptor %d is a socket %s", fd, what);
	return look.why;
}

static int number_of(int fd, int level, int name)
{
	int value = 0;
	socklen_t len = sizeof(value);
	return getsockopt(fd, level, name, &value, &len) ? 0 : value;
}

/* ---- options ---- */

static bool option(struct sock *s, int level, int name, const void *value, socklen_t len)
{
	if (s->noptions == SOCKET_OPTIONS)
		return false;
	s->options[s->noptions].level = level;
	s->options[s->noptions].name = name;
	s->options[s->noptions].len = len;
	memcpy(s->options[s->noptions++].value, value, len);
	return true;
}

/* socket(7), tcp(7), ip(7), ipv6(7): what setsockopt(2) sets, and getsockopt(2) tells in the same form */
static const struct {
	int level, name;
} told[] = {
	{SOL_SOCKET, SO_REUSEADDR},
	{SOL_SOCKET, SO_REUSEPORT},
	{SOL_SOCKET, SO_KEEPALIVE},
	{SOL_SOCKET, SO_BROADCAST},
	{SOL_SOCKET, SO_PASSCRED},
	{SOL_SOCKET, SO_OOBINLINE},
	{SOL_SOCKET, SO_DONTROUTE},
	{SOL_SOCKET, SO_RCVLOWAT},
	{SOL_SOCKET, SO_TIMESTAMP},
	{SOL_SOCKET, SO_TIMESTAMPNS},
	{SOL_SOCKET, SO_MARK},
	{IPPROTO_TCP, TCP_NODELAY},
	{IPPROTO_TCP, TCP_CORK},
	{IPPROTO_TCP, TCP_KEEPIDLE},
	{IPPROTO_TCP, TCP_KEEPINTVL},
	{IPPROTO_TCP, TCP_KEEPCNT},
	{IPPROTO_TCP, TCP_SYNCNT},
	{IPPROTO_TCP, TCP_USER_TIMEOUT},
	{IPPROTO_IP, IP_TOS}, /* sets the priority, too */
	{SOL_SOCKET, SO_PRIORITY},
	{IPPROTO_IP, IP_TTL},
	{IPPROTO_IP, IP_PKTINFO},
	{IPPROTO_IP, IP_RECVTOS},
	{IPPROTO_IP, IP_RECVTTL},
	{IPPROTO_IP, IP_FREEBIND},
	{IPPROTO_IP, IP_MULTICAST_TTL},
	{IPPROTO_IP, IP_MULTICAST_LOOP},
	{IPPROTO_IPV6, IPV6_V6ONLY},
	{IPPROTO_IPV6, IPV6_TCLASS},
	{IPPROTO_IPV6, IPV6_UNICAST_HOPS},
	{IPPROTO_IPV6, IPV6_MULTICAST_HOPS},
	{IPPROTO_IPV6, IPV6_MULTICAST_LOOP},
	{IPPROTO_IPV6, IPV6_MULTICAST_IF},
	{IPPROTO_IPV6, IPV6_RECVPKTINFO},
};

/* SO_GET_FILTER: the number of instructions; EACCES: the filter is one of bpf(2). */
static bool filtered(int fd)
{
	socklen_t len = 0;
	return getsockopt(fd, SOL_SOCKET, SO_GET_FILTER, NULL, &len) ? errno == EACCES : len > 0;
}

/* tcp(7), unix(7): is there a byte of MSG_OOB?  The ones around it can be written again, but not with it. */
static bool urgent(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLPRI};
	return raw_syscall(SYS_poll, (long)&p, 1, 0, 0, 0, 0) == 1 && p.revents & POLLPRI;
}

/* Keeps the options that differ from those of a new socket of its kind. */
static const char *look_at_options(struct sock *s, int fd)
{
	const int fresh = socket(s->family, s->type | SOCK_CLOEXEC, s->protocol);
	bool room = true;
	if (fresh < 0)
		return cannot(fd, "whose options cannot be read");
	for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++) {
		const int value = number_of(fd, told[i].level, told[i].name);
		if (value != number_of(fresh, told[i].level, told[i].name))
			room &= option(s, told[i].level, told[i].name, &value, sizeof(value));
	}
	close(fresh);
	if (filtered(fd))
		return cannot(fd, "with a filter (SO_ATTACH_FILTER, SO_ATTACH_BPF)");
	struct linger linger = {0};
	struct timeval tv;
	struct in_addr from = {0};
	socklen_t len = sizeof(linger);
	if (!getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &len) && linger.l_onoff)
		room &= option(s, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	len = sizeof(from);
	if (!getsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &from, &len) && from.s_addr)
		room &= option(s, IPPROTO_IP, IP_MULTICAST_IF, &from, sizeof(from));
	for (unsigned i = 0; i < 2; i++) {
		const int name = i ? SO_SNDTIMEO : SO_RCVTIMEO, size = i ? SO_SNDBUF : SO_RCVBUF;
		len = sizeof(tv);
		if (!getsockopt(fd, SOL_SOCKET, name, &tv, &len) && (tv.tv_sec || tv.tv_usec))
			room &= option(s, SOL_SOCKET, name, &tv, sizeof(tv));
		if (number_of(fd, SOL_SOCKET, SO_BUF_LOCK) & (i ? 1 : 2)) { /* socket(7): twice what was asked for */
			const int half = number_of(fd, SOL_SOCKET, size) / 2;
			room &= option(s, SOL_SOCKET, size, &half, sizeof(half));
		}
	}
	return room ? NULL : cannot(fd, "with more options than rdb can save");
}

/* ---- what it is ---- */

static bool port_of(const struct sockaddr_storage *a)
{
	return ((const struct sockaddr_in *)a)->sin_port != 0; /* sin6_port is there as well */
}

static const char *look_at_local(struct sock *s, int fd)
{
	socklen_t len = sizeof(s->local);
	if (getsockname(fd, (void *)&s->local, &len))
		return cannot(fd, "without an address");
	const bool named = s->family == AF_UNIX ? len > sizeof(sa_family_t) : port_of(&s->local);
	s->local_len = named ? len : 0;
	return NULL;
}

/* Names the connection, the same at both ends.  The end with the lesser name connects again. */
static const char *name_tcp(struct sock *s, int fd, const struct sockaddr_storage *peer)
{
	char local[96], far[96];
	socket_print_address(local, sizeof(local), &s->local);
	socket_print_address(far, sizeof(far), peer);
	const int order = strcmp(local, far);
	if (!order)
		return cannot(fd, "that is connected to itself");
	s->state = order < 0 ? SOCKET_CONNECTS : SOCKET_ACCEPTED;
	snprintf(s->key, sizeof(s->key), "%s>%s", order < 0 ? local : far, order < 0 ? far : local);
	s->local_len = 0;
	return NULL;
}

static const char *look_at_tcp(struct sock *s, int fd)
{
	struct tcp_info info = {0};
	struct sockaddr_storage peer = {0};
	socklen_t len = sizeof(info), peer_len = sizeof(peer);
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return cannot(fd, "whose state the kernel does not tell");
	switch (info.tcpi_state) {
	case LISTENING:
		s->state = SOCKET_LISTENS;
		s->backlog = (int)info.tcpi_sacked; /* net/ipv4/tcp.c, tcp_get_info() */
		return info.tcpi_unacked ? cannot(fd, "with connections that it has not accepted") : NULL;
	case CLOSED:
		s->state = SOCKET_FRESH;
		return info.tcpi_segs_out ? cannot(fd, "whose connection has ended") : NULL;
	case SYN_SENT:
	case SYN_RECV: return cannot(fd, "that is being connected");
	default: break;
	}
	if (getpeername(fd, (void *)&peer, &peer_len))
		return cannot(fd, "whose connection has ended");
	const int state = info.tcpi_state;
	s->write_shut = state == FIN_WAIT1 || state == FIN_WAIT2 || state == CLOSING || state == LAST_ACK ||
			state == TIME_WAIT;
	return name_tcp(s, fd, &peer);
}

static const char *look_at_unix(struct sock *s, int fd)
{
	struct unix_peer peer;
	struct sockaddr_storage address;
	struct stat st;
	socklen_t len = sizeof(address);
	if (fstat(fd, &st) || unix_peer_of((uint32_t)st.st_ino, &peer))
		return cannot(fd, "whose other end the kernel does not tell");
	if (number_of(fd, SOL_SOCKET, SO_ACCEPTCONN)) {
		s->state = SOCKET_LISTENS;
		s->backlog = (int)peer.backlog;
		return peer.waiting ? cannot(fd, "with connections that it has not accepted") : NULL;
	}
	if (getpeername(fd, (void *)&address, &len)) {
		s->state = SOCKET_FRESH;
		return NULL;
	}
	if (!peer.inode && peer.shut != 3)
		return cannot(fd, "whose connection nobody has accepted");
	const uint64_t own = st.st_ino, far = peer.inode;
	s->state = own < far ? SOCKET_CONNECTS : SOCKET_ACCEPTED;
	snprintf(s->key, sizeof(s->key), "unix:%lu-%lu", own < far ? own : far, own < far ? far : own);
	s->write_shut = peer.inode && peer.shut & 2;
	s->read_shut = !peer.inode; /* the other end is closed */
	s->local_len = 0;
	return s->type != SOCK_STREAM && !peer.inode ? cannot(fd, "that is not a stream (SOCK_STREAM) and whose other "
								  "end is closed")
						     : NULL;
}

static const char *look_at_datagrams(struct sock *s, int fd)
{
	socklen_t len = sizeof(s->target);
	s->state = SOCKET_FRESH;
	s->target_len = getpeername(fd, (void *)&s->target, &len) ? 0 : len;
	return NULL;
}

const char *kernel_sockets_look(int fd, struct opened *f)
{
	const int family = number_of(fd, SOL_SOCKET, SO_DOMAIN), type = number_of(fd, SOL_SOCKET, SO_TYPE),
		  protocol = number_of(fd, SOL_SOCKET, SO_PROTOCOL);
	const bool inet = family == AF_INET || family == AF_INET6;
	const bool known = family == AF_UNIX || (inet && type == SOCK_STREAM && protocol == IPPROTO_TCP) ||
			   (inet && type == SOCK_DGRAM && protocol == IPPROTO_UDP);
	if (!known)
		return cannot(fd, "of a kind that cannot be made again");
	if (look.n == SOCKETS)
		return "it has too many sockets";
	struct sock *s = &sockets[look.n];
	f->kind = SOCKET;
	f->pipe = look.n;
	look.fd[look.n++] = fd;
	free(s->tail);
	*s = (struct sock){.used = true, .family = family, .type = type, .protocol = protocol};
	const char *why = look_at_options(s, fd);
	if (!why)
		why = look_at_local(s, fd);
	int waiting = 0;
	if (!why && type != SOCK_STREAM && !ioctl(fd, SIOCINQ, &waiting) && waiting)
		why = cannot(fd, "with unread messages");
	if (!why && type == SOCK_STREAM && urgent(fd))
		why = cannot(fd, "with an urgent byte (MSG_OOB)");
	if (!why && inet && type == SOCK_DGRAM && number_of(fd, IPPROTO_UDP, UDP_CORK))
		why = cannot(fd, "that holds back what is written to it (UDP_CORK)");
	if (why)
		return why;
	return family == AF_UNIX     ? look_at_unix(s, fd)
	       : type == SOCK_STREAM ? look_at_tcp(s, fd)
				     : look_at_datagrams(s, fd);
}

/* ---- both ends ---- */

static bool connection(const struct sock *s)
{
	return s->used && (s->state == SOCKET_CONNECTS || s->state == SOCKET_ACCEPTED);
}

/* If this process has both ends of a connection of Unix sockets, they are a pair again. */
static void pair(struct sock *s, struct sock *o)
{
	if (!connection(s) || !connection(o) || s->family != AF_UNIX || strcmp(s->key, o->key) != 0)
		return;
	s->state = o->state = SOCKET_PAIRED;
	s->other = o;
	o->other = s;
}

const char *kernel_sockets_looked(void)
{
	for (unsigned i = 0; i < look.n; i++)
		for (unsigned k = i + 1; k < look.n; k++)
			pair(&sockets[i], &sockets[k]);
	for (unsigned i = 0; i < look.n; i++)
		if (connection(&sockets[i]) && sockets[i].type != SOCK_STREAM)
			return cannot(look.fd[i], "that is not a stream (SOCK_STREAM) and is connected to another "
						  "process");
	return NULL;
}

bool kernel_sockets_connected(void)
{
	for (unsigned i = 0; i < look.n; i++)
		if (connection(&sockets[i]))
			return true;
	return false;
}

bool kernel_sockets_unsent(void)
{
	for (unsigned i = 0; i < look.n; i++) {
		int left = 0;
		if (connection(&sockets[i]) && sockets[i].family != AF_UNIX && !ioctl(look.fd[i], SIOCOUTQ, &left) &&
		    left)
			return true;
	}
	return false;
}

/* ---- saving ---- */

static const char *peek(const struct sock *s, int fd, struct table *bytes)
{
	int waiting = 0;
	bytes->len = 0;
	if (s->state == SOCKET_LISTENS || ioctl(fd, SIOCINQ, &waiting) || !waiting)
		return NULL;
	if (s->type != SOCK_STREAM)
		return cannot(fd, "with unread messages");
	if (waiting > SOCKET_TAIL)
		return cannot(fd, "with too many bytes under way");
	uint8_t *room = malloc((size_t)waiting);
	struct iovec part = {room, (size_t)waiting};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t n = room ? recvmsg(fd, &m, MSG_PEEK | MSG_DONTWAIT) : -1;
	const bool whole = n == waiting && !(m.msg_flags & MSG_CTRUNC) && !table_add(bytes, room, (size_t)n);
	free(room);
	return whole ? NULL : cannot(fd, "with descriptors or urgent bytes under way");
}

const char *kernel_sockets_save(struct table *out)
{
	static struct table bytes;
	const uint64_t n = look.n;
	int rc = table_add(out, &n, sizeof(n));
	for (unsigned i = 0; i < look.n && !rc; i++) {
		static struct saved_socket one;
		const char *why = peek(&sockets[i], look.fd[i], &bytes);
		if (why)
			return why;
		one = (struct saved_socket){.size = sizeof(struct sock), .other = SOCKETS, .len = bytes.len};
		one.sock = sockets[i];
		if (sockets[i].other)
			one.other = (uint32_t)(sockets[i].other - sockets);
		rc = table_add(out, &one, sizeof(one));
		if (!rc)
			rc = table_add(out, bytes.base, bytes.len);
	}
	return rc ? "out of memory" : NULL;
}

/* ---- restarting ---- */

static void read_part(int fd, void *bytes, size_t len)
{
	for (size_t got = 0; got < len;) {
		const ssize_t n = read(fd, (char *)bytes + got, len - got);
		if (n <= 0)
			live_refuse("its sockets in checkpoint %u are damaged", lower.opt.checkpoint);
		got += (size_t)n;
	}
}

void kernel_sockets_load(int fd)
{
	static struct saved_socket one;
	uint64_t n;
	read_part(fd, &n, sizeof(n));
	for (uint64_t i = 0; i < n; i++) {
		read_part(fd, &one, sizeof(one));
		if (n > SOCKETS || one.size != sizeof(struct sock) || one.other > SOCKETS || one.len > SOCKET_TAIL)
			live_refuse("its sockets in checkpoint %u are damaged, or written by another version of rdb",
				    lower.opt.checkpoint);
		struct sock *s = &sockets[i];
		*s = one.sock;
		s->tail = NULL;
		s->other = one.other < SOCKETS ? &sockets[one.other] : NULL;
		uint8_t *bytes = malloc(one.len + 1);
		if (!bytes)
			live_refuse("out of memory for its sockets");
		read_part(fd, bytes, one.len);
		unread_had(s, bytes, one.len);
	}
}
