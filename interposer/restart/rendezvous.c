/* At the cut: sockets are made again.  Each rank says in a file of the branch which ends of connections it has, how
 * much it has read of each, and where it can be reached; who had connected connects again, and who had written writes
 * what the other had not read. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "restart/live.h"
#include "restart/sockets.h"
#include "restart/unread.h"
#include "base/descriptors.h"
#include "base/private_file.h"

enum { RANKS = 4096, PATIENCE_MS = 120000, STRANGER_MS = 5000, LOOK_NS = 5000000, TOKEN = 33, ADDRESSES = 16 };
/* So much longer than this rank may another one replay; and after so long a wait it is said. */
enum { COME_MS = 3600000, SAY_MS = 60000 };

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

struct place {
	char token[TOKEN], host[160], address[ADDRESSES][48];
	unsigned naddress;
	int rank, port;
};

struct hello {
	char token[TOKEN], key[SOCKET_KEY];
};

static struct {
	char folder[4096];
	struct place own, *places;
	struct far_end *ends;
	struct far_listener *listeners;
	unsigned nplaces, nends, nlisteners;
	int tcp, local; /* where others come to */
} meet;

static const char *who(const struct sock *s)
{
	return *s->key ? s->key : "a socket";
}

static void *more(void *list, unsigned n, size_t size)
{
	void *p = realloc(list, (n + 1ul) * size);
	if (!p)
		live_refuse("no memory for its sockets");
	memset((char *)p + n * size, 0, size);
	return p;
}

/* ---- what needs nobody else ---- */

static int keep(int fd)
{
	int rc = fd < 0 ? -errno : lower_fd(fd);
	if (rc < 0)
		live_refuse("a socket of it cannot be made: %s", strerror(-rc));
	return rc;
}

/* A path that nobody listens at is left from before. */
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
	for (unsigned i = 0; i < s->noptions; i++) /* those of another family do not matter here */
		setsockopt(fd, s->options[i].level, s->options[i].name, s->options[i].value, s->options[i].len);
}

void socket_alone(struct sock *s)
{
	int one = 1, ends[2];
	if (s->state == SOCKET_PAIRED) {
		if (s->made)
			return;
		if (socketpair(s->family, s->type | SOCK_CLOEXEC, s->protocol, ends))
			live_refuse("a pair of sockets: %s", strerror(errno));
		s->made = keep(ends[0]);
		s->other->made = keep(ends[1]);
		return;
	}
	s->made = keep(socket(s->family, s->type | SOCK_CLOEXEC, s->protocol));
	socket_options(s, s->made);
	if (s->state == SOCKET_LISTENS)
		setsockopt(s->made, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	clear_path(s);
	if (s->local_len && bind(s->made, (const void *)&s->local, s->local_len))
		live_refuse("the address of one of its sockets cannot be had again: %s", strerror(errno));
	if (s->target_len && connect(s->made, (const void *)&s->target, s->target_len))
		live_refuse("a socket of datagrams of it cannot be connected again: %s", strerror(errno));
	if (s->state == SOCKET_LISTENS && listen(s->made, s->backlog))
		live_refuse("it cannot listen again: %s", strerror(errno));
}

/* ---- where we are ---- */

static void own_addresses(struct place *p)
{
	struct ifaddrs *all, *one;
	if (getifaddrs(&all))
		return;
	for (one = all; one; one = one->ifa_next) {
		const struct sockaddr_in *in = (const void *)one->ifa_addr;
		if (in && in->sin_family == AF_INET && in->sin_addr.s_addr != htonl(INADDR_LOOPBACK) &&
		    p->naddress < ADDRESSES)
			inet_ntop(AF_INET, &in->sin_addr, p->address[p->naddress++], sizeof(p->address[0]));
	}
	freeifaddrs(all);
}

static void open_door(void)
{
	struct place *p = &meet.own;
	uint8_t random[16];
	struct sockaddr_in in = {.sin_family = AF_INET};
	socklen_t len = sizeof(in);
	char host[100] = "?";
	struct stat st = {0};
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		live_refuse("no random numbers");
	for (unsigned i = 0; i < sizeof(random); i++)
		snprintf(p->token + 2 * i, 3, "%02x", random[i]);
	p->rank = lower.opt.rank;
	gethostname(host, sizeof(host) - 1);
	stat("/proc/self/ns/net", &st);
	snprintf(p->host, sizeof(p->host), "%s-%lu", host, (unsigned long)st.st_ino);
	own_addresses(p);
	meet.tcp = keep(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	meet.local = keep(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int name = snprintf(un.sun_path + 1, sizeof(un.sun_path) - 1, "rdb-%s", p->token);
	if (bind(meet.tcp, (void *)&in, sizeof(in)) || listen(meet.tcp, RANKS) ||
	    getsockname(meet.tcp, (void *)&in, &len) ||
	    bind(meet.local, (void *)&un, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)name)) ||
	    listen(meet.local, RANKS))
		live_refuse("no place to meet the other ranks: %s", strerror(errno));
	p->port = ntohs(in.sin_port);
}

static void write_down(FILE *f)
{
	fprintf(f, "place %s %d %s\n", meet.own.token, meet.own.port, meet.own.host);
	for (unsigned i = 0; i < meet.own.naddress; i++)
		fprintf(f, "address %s\n", meet.own.address[i]);
	for (const struct sock *s = sockets; s < sockets + SOCKETS; s++) {
		const struct sockaddr_in *in = (const void *)&s->local;
		if (s->used && (s->state == SOCKET_CONNECTS || s->state == SOCKET_ACCEPTED))
			fprintf(f, "end %u %u %lu %s\n", s->state == SOCKET_CONNECTS, s->closed, (unsigned long)s->read,
				s->key);
		if (s->used && s->state == SOCKET_LISTENS && s->family != AF_UNIX)
			fprintf(f, "listen %d\n", ntohs(in->sin_port));
	}
	unread_write_down(f);
	fprintf(f, "whole\n");
}

static void read_line(struct place *p, const char *line, bool *whole)
{
	struct far_end e = {.rank = p->rank};
	int port;
	if (sscanf(line, "place %32s %d %159s", p->token, &p->port, p->host) == 3)
		return;
	if (unread_line(line))
		return;
	if (p->naddress < ADDRESSES && sscanf(line, "address %47s", p->address[p->naddress]) == 1) {
		p->naddress++;
	} else if (sscanf(line, "end %u %u %lu %319s", &e.connects, &e.closed, &e.read, e.key) == 4) {
		meet.ends = more(meet.ends, meet.nends, sizeof(e));
		meet.ends[meet.nends++] = e;
	} else if (sscanf(line, "listen %d", &port) == 1) {
		meet.listeners = more(meet.listeners, meet.nlisteners, sizeof(*meet.listeners));
		meet.listeners[meet.nlisteners++] = (struct far_listener){.rank = p->rank, .port = port};
	} else if (!strncmp(line, "whole", 5)) {
		*whole = true;
	}
}

static uint64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void read_rank(int rank, uint64_t until)
{
	char path[4200], line[1024];
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	const uint64_t say = now_ms() + SAY_MS;
	bool whole = false, said = false;
	FILE *f;
	snprintf(path, sizeof(path), "%s/sockets-%d", meet.folder, rank);
	while (!(f = fopen(path, "re"))) {
		if (errno != ENOENT || now_ms() > until)
			live_refuse("rank %d does not come to where sockets are made again", rank);
		if (!said && now_ms() > say) {
			rdb_warn("rank %d waits for rank %d to come to the cut", lower.opt.rank, rank);
			said = true;
		}
		nanosleep(&pause, NULL);
	}
	meet.places = more(meet.places, meet.nplaces, sizeof(struct place));
	struct place *p = &meet.places[meet.nplaces++];
	p->rank = rank;
	while (fgets(line, sizeof(line), f))
		read_line(p, line, &whole);
	fclose(f);
	if (!whole)
		live_refuse("%s is damaged", path);
}

static void publish(void)
{
	char own[4200], path[4200];
	snprintf(own, sizeof(own), "%s/.sockets-%d", meet.folder, lower.opt.rank);
	snprintf(path, sizeof(path), "%s/sockets-%d", meet.folder, lower.opt.rank);
	int fd = private_create(AT_FDCWD, own, O_WRONLY | O_EXCL);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		live_refuse("%s: %s", own, strerror(errno));
	write_down(f);
	bool good = !ferror(f);
	if (fclose(f) || !good || rename(own, path))
		live_refuse("%s: %s", path, strerror(errno));
}

/* Of all ranks that have sockets; the branch's directory names them. */
static void exchange(void)
{
	char path[4200];
	const uint64_t until = now_ms() + COME_MS;
	int rank;
	publish();
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

static const struct place *place_of(int rank)
{
	for (unsigned i = 0; i < meet.nplaces; i++)
		if (meet.places[i].rank == rank)
			return &meet.places[i];
	live_refuse("rank %d has no place to be met", rank);
}

/* One that is open, if there is; addresses are used again. */
static struct far_end *far_end_of(const struct sock *s)
{
	struct far_end *found = NULL;
	for (unsigned i = 0; i < meet.nends; i++)
		if (meet.ends[i].connects == (s->state != SOCKET_CONNECTS) && !strcmp(meet.ends[i].key, s->key) &&
		    (!found || found->closed))
			found = &meet.ends[i];
	return found;
}

static int connect_tcp(const struct place *p, int port)
{
	const bool here = !strcmp(p->host, meet.own.host);
	for (unsigned i = 0; i < (here ? 1 : p->naddress); i++) {
		struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
		int fd = keep(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
		if (inet_pton(AF_INET, here ? "127.0.0.1" : p->address[i], &to.sin_addr) == 1 &&
		    connect(fd, (void *)&to, sizeof(to)) == 0)
			return fd;
		lower_fd_close(fd);
	}
	live_refuse("rank %d cannot be reached for its sockets: %s", p->rank, strerror(errno));
}

static int connect_local(const struct place *p)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = keep(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	int name = snprintf(to.sun_path + 1, sizeof(to.sun_path) - 1, "rdb-%s", p->token);
	if (connect(fd, (void *)&to, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)name)))
		live_refuse("%s: rank %d is not on this host: %s", "a Unix socket", p->rank, strerror(errno));
	return fd;
}

static void connect_again(struct sock *s, const struct far_end *far)
{
	const struct place *p = place_of(far->rank);
	struct hello hello = {0};
	s->made = s->family == AF_UNIX ? connect_local(p) : connect_tcp(p, p->port);
	memcpy(hello.token, p->token, sizeof(hello.token));
	memcpy(hello.key, s->key, sizeof(hello.key));
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

/* It was in the backlog of one who listens, and comes there again. */
static bool to_listener(struct sock *s)
{
	const struct sockaddr_in *to = (const void *)&s->target;
	if (s->family == AF_UNIX) {
		s->made = keep(socket(AF_UNIX, s->type | SOCK_CLOEXEC, 0));
		if (connect(s->made, (const void *)&s->target, s->target_len))
			return false;
		socket_name_again(s);
		return true;
	}
	for (unsigned i = 0; i < meet.nlisteners; i++)
		if (meet.listeners[i].port == ntohs(to->sin_port)) {
			s->made = connect_tcp(place_of(meet.listeners[i].rank), meet.listeners[i].port);
			socket_name_again(s);
			return true;
		}
	return false;
}

static bool await_input(int fd, int ms)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};
	return poll(&one, 1, ms) == 1;
}

static struct sock *expected(const struct hello *hello)
{
	for (struct sock *s = sockets; s < sockets + SOCKETS; s++)
		if (s->used && s->state == SOCKET_ACCEPTED && !s->made && !strcmp(s->key, hello->key))
			return s;
	return NULL;
}

/* True: one of those who were to come. */
static bool take_one(int door)
{
	struct hello hello;
	size_t got = 0;
	ssize_t n = 1;
	int fd = keep(accept4(door, NULL, NULL, SOCK_CLOEXEC));
	while (got < sizeof(hello) && n > 0 && await_input(fd, STRANGER_MS)) {
		n = recv(fd, (char *)&hello + got, sizeof(hello) - got, 0);
		got += n > 0 ? (size_t)n : 0;
	}
	hello.key[sizeof(hello.key) - 1] = 0;
	struct sock *s = got == sizeof(hello) && !memcmp(hello.token, meet.own.token, TOKEN) ? expected(&hello) : NULL;
	if (s)
		s->made = fd;
	else
		lower_fd_close(fd);
	return s != NULL;
}

static void take_all(unsigned coming)
{
	const uint64_t until = now_ms() + PATIENCE_MS;
	while (coming) {
		struct pollfd doors[2] = {{.fd = meet.tcp, .events = POLLIN}, {.fd = meet.local, .events = POLLIN}};
		if (now_ms() > until)
			live_refuse("%u of the connections to it are not made again", coming);
		poll(doors, 2, 100);
		for (unsigned i = 0; i < 2; i++)
			if (doors[i].revents & POLLIN && take_one(doors[i].fd))
				coming--;
	}
}

/* What the other end had not read. */
static void write_again(struct sock *s, uint64_t read)
{
	if (read > s->written)
		live_refuse("the cut is not consistent: %s has more read from it than was written", who(s));
	uint64_t left = s->written - read;
	if (left > s->tail_len)
		live_refuse("%s: %lu bytes are under way", who(s), (unsigned long)left);
	const uint8_t *from = s->tail + s->tail_len - left;
	s->left = left;
	while (left) {
		struct pollfd one = {.fd = s->made, .events = POLLOUT};
		ssize_t n = poll(&one, 1, STRANGER_MS) == 1 ? send(s->made, from, left, MSG_NOSIGNAL | MSG_DONTWAIT)
							    : 0;
		if (n <= 0)
			live_refuse("%s does not take the %lu bytes that were under way", who(s), (unsigned long)left);
		from += n;
		left -= (uint64_t)n;
	}
	if (s->write_shut && !s->closed)
		shutdown(s->made, SHUT_WR);
}

/* Its other end is closed, and had written what it has not read. */
static void orphan(struct sock *s)
{
	const uint8_t *from;
	uint64_t left = unread_of(s, &from);
	int ends[2];
	if (socketpair(s->family, s->type | SOCK_CLOEXEC, s->protocol, ends))
		live_refuse("a pair of sockets: %s", strerror(errno));
	s->made = keep(ends[0]);
	while (left) {
		const ssize_t n = send(ends[1], from, left, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n <= 0)
			live_refuse("%s does not take the %lu bytes that were under way", who(s), (unsigned long)left);
		from += n;
		left -= (uint64_t)n;
	}
	close(ends[1]);
}

/* A program that had bytes to read finds them there, when it goes on. */
static void await_unread(const struct sock *s, uint64_t until)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	const uint64_t len = unread_of(s, NULL);
	for (int there = 0; len && !ioctl(s->made, FIONREAD, &there) && (uint64_t)there < len;) {
		if (now_ms() > until)
			live_refuse("%s does not get the %lu bytes that were under way", who(s), (unsigned long)len);
		nanosleep(&pause, NULL);
	}
}

void sockets_restore(void)
{
	unsigned coming = 0, any = 0;
	char path[4200];
	snprintf(meet.folder, sizeof(meet.folder), "%s/..", lower.opt.branch);
	snprintf(path, sizeof(path), "%s/sockets-ranks", meet.folder);
	for (struct sock *s = sockets; s < sockets + SOCKETS; s++) {
		any += s->used;
		if (s->used && !(s->state == SOCKET_CONNECTS || s->state == SOCKET_ACCEPTED) &&
		    !(s->closed && !(s->other && !s->other->closed)))
			socket_alone(s);
	}
	if (!any && access(path, F_OK))
		return;
	open_door();
	exchange();
	for (struct sock *s = sockets; s < sockets + SOCKETS; s++) {
		if (!s->used || (s->state != SOCKET_CONNECTS && s->state != SOCKET_ACCEPTED))
			continue;
		const struct far_end *far = far_end_of(s);
		if (far && s->closed && far->closed)
			continue;
		if (!far && s->read_shut && lower.opt.from_image) {
			orphan(s);
			continue;
		}
		if (far && s->state == SOCKET_ACCEPTED)
			coming++;
		else if (far)
			connect_again(s, far);
		else if (!s->closed && !(s->state == SOCKET_CONNECTS && to_listener(s)))
			live_refuse("one of its sockets is connected to a process that is not of the job (%s)", who(s));
	}
	take_all(coming);
	if (lower.opt.from_image)
		unread_known();
	for (struct sock *s = sockets; s < sockets + SOCKETS; s++) {
		if (!s->made || s->state == SOCKET_LISTENS || s->state == SOCKET_FRESH)
			continue;
		const struct far_end *far = s->state == SOCKET_PAIRED || s->named_again ? NULL : far_end_of(s);
		socket_options(s, s->made);
		write_again(s, s->state == SOCKET_PAIRED ? s->other->read : far ? far->read : 0);
	}
	const uint64_t until = now_ms() + PATIENCE_MS;
	for (const struct sock *s = sockets; s < sockets + SOCKETS; s++)
		if (s->used && s->made && lower.opt.from_image)
			await_unread(s, until);
	sockets_save();
	for (struct sock *s = sockets; s < sockets + SOCKETS; s++)
		if (s->made && s->closed)
			lower_fd_close(s->made);
	lower_fd_close(meet.tcp);
	lower_fd_close(meet.local);
}

int socket_made(struct opened *f)
{
	const struct sock *s = socket_of(f);
	if (f->flags & O_NONBLOCK && fcntl(s->made, F_SETFL, O_NONBLOCK))
		return -errno;
	return s->made;
}
