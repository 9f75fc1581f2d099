/* At the cut: sockets are made again.  Each rank writes to a file of the branch which ends of connections it has, how
 * much it has read of each, and its addresses.  The rank that had accepted a connection then listens (a door), only on
 * addresses that lead to the ranks that had connected, and writes where.  The rank that had connected connects again;
 * both prove that they have read the accepting rank's file (SipHash with the token there).  Each end writes again what
 * the other had not read. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "restart/base/branch_file.h"
#include "restart/base/cut.h"
#include "restart/sockets/doors.h"
#include "restart/sockets/sockets.h"
#include "restart/sockets/unread.h"
#include "base/descriptors.h"
#include "base/monotonic.h"
#include "base/private_file.h"

enum { PATIENCE_MS = 120000, STRANGER_MS = 5000, LOOK_NS = 5000000 };
enum { MS = 1000000, BOUND_S = 65 /* TCP_TIMEWAIT_LEN of the kernel is 60 */ };

struct far_end {
	char key[SOCKET_KEY];
	int rank;
	unsigned connects, closed;
	uint64_t read;
};

struct far_listener {
	char address[96];
	int rank, port;
};

struct hello {
	char key[SOCKET_KEY];
	uint64_t proof;
};

static struct {
	char folder[4096];
	struct place *places;
	struct far_end *ends;
	struct far_listener *listeners;
	unsigned nplaces, nends, nlisteners;
} meet;

static const char *who(const struct sock *s)
{
	return *s->key ? s->key : "a socket";
}

static void *more(void *list, unsigned n, size_t size)
{
	void *p = realloc(list, (n + 1ul) * size);
	if (!p)
		live_refuse("out of memory for its sockets");
	memset((char *)p + n * size, 0, size);
	return p;
}

/* ---- what needs no other process ---- */

/* tcp(7): connections that have just ended keep the address for a minute. */
static int bound(const struct sock *s)
{
	const struct timespec nap = {.tv_nsec = 100000000};
	const uint64_t until = monotonic_ns() + BOUND_S * 1000000000ull;
	bool said = false;
	while (bind(s->made, (const void *)&s->local, s->local_len)) {
		if (errno != EADDRINUSE || s->family == AF_UNIX || monotonic_ns() > until)
			return -1;
		if (!said)
			rdb_warn("rank %d waits, at most %d s, until the address of one of its sockets is free",
				 lower.opt.rank, BOUND_S);
		said = true;
		nanosleep(&nap, NULL);
	}
	return 0;
}

/* Removes a path that no process listens at: it is left from before. */
static void clear_path(const struct sock *s)
{
	const struct sockaddr_un *at = (const void *)&s->local;
	struct stat st;
	if (s->family != AF_UNIX || !at->sun_path[0] || lstat(at->sun_path, &st) || !S_ISSOCK(st.st_mode))
		return;
	int probe = socket(AF_UNIX, s->type | SOCK_CLOEXEC, 0);
	if (probe >= 0 && connect(probe, (const void *)at, s->local_len) && errno == ECONNREFUSED)
		unlink(at->sun_path);
	close(probe);
}

void socket_options(const struct sock *s, int fd)
{
	for (unsigned i = 0; i < s->noptions; i++) /* options of another family fail, which does not matter here */
		setsockopt(fd, s->options[i].level, s->options[i].name, s->options[i].value, s->options[i].len);
}

void socket_alone(struct sock *s)
{
	int one = 1, ends[2];
	if (s->state == SOCKET_PAIRED) {
		if (s->made)
			return;
		if (socketpair(s->family, s->type | SOCK_CLOEXEC, s->protocol, ends))
			live_refuse("a pair of sockets cannot be made: %s", strerror(errno));
		s->made = keep_socket(ends[0]);
		s->other->made = keep_socket(ends[1]);
		return;
	}
	s->made = keep_socket(socket(s->family, s->type | SOCK_CLOEXEC, s->protocol));
	socket_options(s, s->made);
	if (s->state == SOCKET_LISTENS)
		setsockopt(s->made, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	clear_path(s);
	if (s->local_len && bound(s))
		live_refuse("one of its sockets cannot be bound to its address again: %s", strerror(errno));
	if (s->target_len && connect(s->made, (const void *)&s->target, s->target_len))
		live_refuse("one of its datagram sockets cannot be connected again: %s", strerror(errno));
	if (s->state == SOCKET_LISTENS && listen(s->made, s->backlog))
		live_refuse("it cannot listen again: %s", strerror(errno));
}

static void write_down(FILE *f)
{
	place_write(f);
	for (const struct sock *s = sockets; s < sockets + SOCKETS; s++) {
		const struct sockaddr_in *in = (const void *)&s->local;
		if (s->used && (s->state == SOCKET_CONNECTS || s->state == SOCKET_ACCEPTED))
			fprintf(f, "end %u %u %lu %s\n", s->state == SOCKET_CONNECTS, s->closed, (unsigned long)s->read,
				s->key);
		if (s->used && s->state == SOCKET_LISTENS && s->family != AF_UNIX)
			fprintf(f, "listen %d\n", ntohs(in->sin_port));
	}
	unread_write_down(f);
}

static void read_line(struct place *p, const char *line, bool *whole)
{
	struct far_end e = {.rank = p->rank};
	int port;
	if (place_line(p, line))
		return;
	if (unread_line(line))
		return;
	if (sscanf(line, "end %u %u %lu %319s", &e.connects, &e.closed, &e.read, e.key) == 4) {
		meet.ends = more(meet.ends, meet.nends, sizeof(e));
		meet.ends[meet.nends++] = e;
	} else if (sscanf(line, "listen %d", &port) == 1) {
		meet.listeners = more(meet.listeners, meet.nlisteners, sizeof(*meet.listeners));
		meet.listeners[meet.nlisteners++] = (struct far_listener){.rank = p->rank, .port = port};
	} else if (!strncmp(line, "whole", 5)) {
		*whole = true;
	}
}

/* Reads a file of another rank, once it is there. */
static void read_file(struct place *p, const char *name, uint64_t until)
{
	char path[4200], line[1024];
	bool whole = false;
	snprintf(path, sizeof(path), "%s/%s-%d", meet.folder, name, p->rank);
	FILE *f = rank_file_await(path, p->rank, until);
	while (fgets(line, sizeof(line), f))
		read_line(p, line, &whole);
	fclose(f);
	if (!whole)
		live_refuse("%s is damaged", path);
}

static void read_rank(int rank, uint64_t until)
{
	meet.places = more(meet.places, meet.nplaces, sizeof(struct place));
	struct place *p = &meet.places[meet.nplaces++];
	p->rank = rank;
	read_file(p, "sockets", until);
}

static void publish(const char *name, void (*write_what)(FILE *))
{
	char own[4200], path[4200];
	snprintf(own, sizeof(own), "%s/.%s-%d", meet.folder, name, lower.opt.rank);
	snprintf(path, sizeof(path), "%s/%s-%d", meet.folder, name, lower.opt.rank);
	int fd = private_create(AT_FDCWD, own, O_WRONLY | O_EXCL);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		live_refuse("%s: %s", own, strerror(errno));
	write_what(f);
	fprintf(f, "whole\n");
	bool good = !ferror(f);
	if (fclose(f) || !good || rename(own, path))
		live_refuse("%s: %s", path, strerror(errno));
}

/* Reads the files of all ranks that have sockets; a file in the branch's directory names them. */
static void exchange(void)
{
	char path[4200];
	const uint64_t until = monotonic_ns() / MS + COME_MS;
	int rank;
	publish("sockets", write_down);
	snprintf(path, sizeof(path), "%s/sockets-ranks", meet.folder);
	FILE *f = fopen(path, "re");
	if (!f) {
		read_rank(lower.opt.rank, until);
		return;
	}
	while (fscanf(f, "%d", &rank) == 1)
		read_rank(rank, until);
	fclose(f);
}

/* ---- connecting ---- */

static struct place *place_of(int rank)
{
	for (unsigned i = 0; i < meet.nplaces; i++)
		if (meet.places[i].rank == rank)
			return &meet.places[i];
	live_refuse("rank %d has told no address for connecting sockets again", rank);
}

/* The other end of a connection: an open one if there is, since addresses are used again. */
static struct far_end *far_end_of(const struct sock *s)
{
	struct far_end *found = NULL;
	for (unsigned i = 0; i < meet.nends; i++)
		if (meet.ends[i].connects == (s->state != SOCKET_CONNECTS) && !strcmp(meet.ends[i].key, s->key) &&
		    (!found || found->closed))
			found = &meet.ends[i];
	return found;
}

static void connect_again(struct sock *s, const struct far_end *far)
{
	struct place *p = place_of(far->rank);
	struct hello hello = {0};
	if (!p->open)
		read_file(p, "doors", monotonic_ns() / MS + COME_MS);
	p->open = true;
	s->made = s->family == AF_UNIX ? door_connect_local(p) : door_connect(p);
	memcpy(hello.key, s->key, sizeof(hello.key));
	hello.proof = door_proof(p, hello.key, true);
	if (send(s->made, &hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello))
		live_refuse("%s: %s", who(s), strerror(errno));
}

void socket_name_again(struct sock *s)
{
	struct rdb_note_socket note = {.pid = (int32_t)lower.pid};
	socklen_t local = sizeof(note.local), peer = sizeof(note.peer);
	if (getsockname(s->made, (void *)note.local, &local) || getpeername(s->made, (void *)note.peer, &peer))
		live_refuse("%s: %s", who(s), strerror(errno));
	note.local_len = (uint16_t)local;
	note.peer_len = (uint16_t)peer;
	*s->key = 0;
	socket_name(s, &note);
	s->named_again = true;
}

/* The connection was in the backlog of a listener: connects to that listener again. */
static bool to_listener(struct sock *s)
{
	const struct sockaddr_in *to = (const void *)&s->target;
	if (s->family == AF_UNIX) {
		s->made = keep_socket(socket(AF_UNIX, s->type | SOCK_CLOEXEC, 0));
		if (connect(s->made, (const void *)&s->target, s->target_len))
			return false;
		socket_name_again(s);
		return true;
	}
	for (unsigned i = 0; i < meet.nlisteners; i++)
		if (meet.listeners[i].port == ntohs(to->sin_port)) {
			s->made = door_connect_listener(place_of(meet.listeners[i].rank), meet.listeners[i].port);
			socket_name_again(s);
			return true;
		}
	return false;
}

static struct sock *expected(const struct hello *hello)
{
	for (struct sock *s = sockets; s < sockets + SOCKETS; s++)
		if (s->used && s->state == SOCKET_ACCEPTED && !s->made && !strcmp(s->key, hello->key))
			return s;
	return NULL;
}

/* True: it was one of the expected connections. */
static bool take_one(int fd)
{
	struct hello hello;
	struct sock *s = NULL;
	if (door_hear(fd, &hello, sizeof(hello), STRANGER_MS) && !hello.key[sizeof(hello.key) - 1] &&
	    hello.proof == door_proof(&our_place, hello.key, true))
		s = expected(&hello);
	const uint64_t answer = s ? door_proof(&our_place, hello.key, false) : 0;
	if (s && send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) == sizeof(answer))
		s->made = fd;
	else
		lower_fd_close(fd);
	return s && s->made;
}

static void take_all(unsigned coming)
{
	const uint64_t until = monotonic_ns() / MS + PATIENCE_MS;
	while (coming) {
		if (monotonic_ns() / MS > until)
			live_refuse("%u of the connections to it were not made again in time", coming);
		const int fd = door_accept();
		coming -= fd >= 0 && take_one(fd);
	}
}

/* Checks that the other side is that rank. */
static void hear_answer(const struct sock *s, const struct far_end *far)
{
	uint64_t answer;
	if (!door_hear(s->made, &answer, sizeof(answer), PATIENCE_MS) ||
	    answer != door_proof(place_of(far->rank), s->key, false))
		live_refuse("%s: another process than rank %d answered", who(s), far->rank);
}

/* Writes again what the other end had not read. */
static void write_again(struct sock *s, uint64_t read)
{
	if (read > s->written)
		live_refuse("the cut is not consistent: from %s more was read than was written to it", who(s));
	uint64_t left = s->written - read;
	if (left > s->tail_len)
		live_refuse("%s: %lu bytes are under way, more than rdb kept", who(s), (unsigned long)left);
	const uint8_t *from = s->tail + s->tail_len - left;
	s->left = left;
	while (left) {
		struct pollfd one = {.fd = s->made, .events = POLLOUT};
		ssize_t n = poll(&one, 1, STRANGER_MS) == 1 ? send(s->made, from, left, MSG_NOSIGNAL | MSG_DONTWAIT)
							    : 0;
		if (n <= 0)
			live_refuse("%s cannot take the %lu bytes that were under way", who(s), (unsigned long)left);
		from += n;
		left -= (uint64_t)n;
	}
	if (s->write_shut && !s->closed)
		shutdown(s->made, SHUT_WR);
}

/* The other end is closed, and had written what this one has not read. */
static void orphan(struct sock *s)
{
	const uint8_t *from;
	uint64_t left = unread_of(s, &from);
	int ends[2];
	if (socketpair(s->family, s->type | SOCK_CLOEXEC, s->protocol, ends))
		live_refuse("a pair of sockets cannot be made: %s", strerror(errno));
	s->made = keep_socket(ends[0]);
	while (left) {
		const ssize_t n = send(ends[1], from, left, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n <= 0)
			live_refuse("%s cannot take the %lu bytes that were under way", who(s), (unsigned long)left);
		from += n;
		left -= (uint64_t)n;
	}
	close(ends[1]);
}

/* Waits until the bytes that the program had not read are there, before it goes on. */
static void await_unread(const struct sock *s, uint64_t until)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	const uint64_t len = unread_of(s, NULL);
	for (int there = 0; len && !ioctl(s->made, FIONREAD, &there) && (uint64_t)there < len;) {
		if (monotonic_ns() / MS > until)
			live_refuse("%s did not receive the %lu bytes that were under way in time", who(s),
				    (unsigned long)len);
		nanosleep(&pause, NULL);
	}
}

static bool is_connection(const struct sock *s)
{
	return s->used && (s->state == SOCKET_CONNECTS || s->state == SOCKET_ACCEPTED);
}

/* The other end of a connection; NULL: it need not be made again. */
static const struct far_end *far_end_to_meet(const struct sock *s)
{
	const struct far_end *far = is_connection(s) ? far_end_of(s) : NULL;
	return far && s->closed && far->closed ? NULL : far;
}

/* Opens the doors.  Returns how many connections will come. */
static unsigned open_doors(void)
{
	unsigned coming = 0;
	for (const struct sock *s = sockets; s < sockets + SOCKETS; s++) {
		const struct far_end *far = s->state == SOCKET_ACCEPTED ? far_end_to_meet(s) : NULL;
		coming += far != NULL;
		if (far && s->family == AF_UNIX)
			door_open_local();
		else if (far)
			doors_open_to(place_of(far->rank));
	}
	publish("doors", doors_write);
	return coming;
}

static void connect_all(void)
{
	for (struct sock *s = sockets; s < sockets + SOCKETS; s++) {
		const struct far_end *far = is_connection(s) ? far_end_of(s) : NULL;
		if (!is_connection(s) || (far && (s->state == SOCKET_ACCEPTED || (s->closed && far->closed))))
			continue;
		if (!far && s->read_shut && lower.opt.from_image)
			orphan(s);
		else if (far)
			connect_again(s, far);
		else if (!s->closed && !(s->state == SOCKET_CONNECTS && to_listener(s)))
			live_refuse("one of its sockets is connected to a process outside of the job (%s)", who(s));
	}
}

void sockets_restore(void)
{
	unsigned any = 0;
	char path[4200];
	snprintf(meet.folder, sizeof(meet.folder), "%s/..", lower.opt.branch);
	snprintf(path, sizeof(path), "%s/sockets-ranks", meet.folder);
	for (struct sock *s = sockets; s < sockets + SOCKETS; s++) {
		any += s->used;
		if (s->used && !is_connection(s) && !(s->closed && !(s->other && !s->other->closed)))
			socket_alone(s);
	}
	if (!any && access(path, F_OK))
		return;
	place_find();
	exchange();
	const unsigned coming = open_doors();
	connect_all();
	take_all(coming);
	for (const struct sock *s = sockets; s < sockets + SOCKETS; s++) {
		const struct far_end *far = s->state == SOCKET_CONNECTS ? far_end_to_meet(s) : NULL;
		if (far)
			hear_answer(s, far);
	}
	doors_close();
	if (lower.opt.from_image)
		unread_known();
	for (struct sock *s = sockets; s < sockets + SOCKETS; s++) {
		if (!s->made || s->state == SOCKET_LISTENS || s->state == SOCKET_FRESH)
			continue;
		const struct far_end *far = s->state == SOCKET_PAIRED || s->named_again ? NULL : far_end_of(s);
		socket_options(s, s->made);
		write_again(s, s->state == SOCKET_PAIRED ? s->other->read : far ? far->read : 0);
	}
	const uint64_t until = monotonic_ns() / MS + PATIENCE_MS;
	for (const struct sock *s = sockets; s < sockets + SOCKETS; s++)
		if (s->used && s->made && lower.opt.from_image)
			await_unread(s, until);
	sockets_save();
	for (struct sock *s = sockets; s < sockets + SOCKETS; s++)
		if (s->made && s->closed)
			lower_fd_close(s->made);
}

int socket_made(struct opened *f)
{
	const struct sock *s = socket_of(f);
	if (f->flags & O_NONBLOCK && fcntl(s->made, F_SETFL, O_NONBLOCK))
		return -errno;
	return s->made;
}
