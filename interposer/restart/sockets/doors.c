/* Where connections are made again: listeners at addresses of this host, and the way to those of others. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "restart/base/cut.h"
#include "restart/sockets/doors.h"
#include "base/descriptors.h"

enum { BACKLOG = 4096, LOOK_MS = 100 };

struct place our_place;

int keep_socket(int fd)
{
	int rc = fd < 0 ? -errno : lower_fd(fd);
	if (rc < 0)
		live_refuse("a socket for it cannot be made: %s", strerror(-rc));
	return rc;
}

static void own_addresses(struct place *p)
{
	struct ifaddrs *all, *one;
	if (getifaddrs(&all))
		return;
	for (one = all; one; one = one->ifa_next) {
		const struct sockaddr_in *in = (const void *)one->ifa_addr;
		if (in && in->sin_family == AF_INET && ntohl(in->sin_addr.s_addr) >> 24 != IN_LOOPBACKNET &&
		    p->naddress < ADDRESSES)
			inet_ntop(AF_INET, &in->sin_addr, p->address[p->naddress++], sizeof(p->address[0]));
	}
	freeifaddrs(all);
}

void place_find(void)
{
	struct place *p = &our_place;
	uint8_t random[SIPHASH_KEY];
	char host[100] = "?";
	struct stat st = {0};
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		live_refuse("the kernel gives no random numbers (getrandom)");
	for (unsigned i = 0; i < sizeof(random); i++)
		snprintf(p->token + 2 * i, 3, "%02x", random[i]);
	p->rank = lower.opt.rank;
	gethostname(host, sizeof(host) - 1);
	stat("/proc/self/ns/net", &st);
	snprintf(p->host, sizeof(p->host), "%s-%lu", host, (unsigned long)st.st_ino);
	own_addresses(p);
}

static bool is_here(const struct place *p)
{
	return !strcmp(p->host, our_place.host);
}

static void open_door(struct in_addr address)
{
	struct place *p = &our_place;
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = address};
	socklen_t len = sizeof(at);
	for (unsigned i = 0; i < p->ndoors; i++)
		if (p->doors[i].address.s_addr == address.s_addr)
			return;
	if (p->ndoors == DOORS)
		return; /* the doors that are open have to do */
	const int fd = keep_socket(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	if (bind(fd, (void *)&at, sizeof(at)) || listen(fd, BACKLOG) || getsockname(fd, (void *)&at, &len))
		live_refuse("it cannot listen for connections of the other ranks: %s", strerror(errno));
	p->doors[p->ndoors++] = (struct door){.fd = fd, .port = ntohs(at.sin_port), .address = at.sin_addr};
}

/* The kernel finds a name in its abstract namespace (unix(7), autobind). */
void door_open_local(void)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	socklen_t len = sizeof(un);
	if (our_place.local_fd)
		return;
	const int fd = keep_socket(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	if (bind(fd, (void *)&un, sizeof(un.sun_family)) || listen(fd, BACKLOG) || getsockname(fd, (void *)&un, &len))
		live_refuse("it cannot listen for connections of the other ranks: %s", strerror(errno));
	const size_t name = len - offsetof(struct sockaddr_un, sun_path) - 1;
	if (name >= sizeof(our_place.local))
		live_refuse("it cannot listen for connections of the other ranks: too long a socket name");
	memcpy(our_place.local, un.sun_path + 1, name);
	our_place.local_fd = fd;
}

/* Our address by which this host reaches another (connect(2) of datagrams asks the routes, and sends nothing).  False:
 * there is none, or that address is ours, too, like that of a bridge on each host. */
static bool address_towards(const char *theirs, struct in_addr *ours)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(9)};
	socklen_t len = sizeof(at);
	for (unsigned i = 0; i < our_place.naddress; i++)
		if (!strcmp(theirs, our_place.address[i]))
			return false;
	const int fd = keep_socket(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	const bool found = inet_pton(AF_INET, theirs, &at.sin_addr) == 1 && !connect(fd, (void *)&at, sizeof(at)) &&
			   !getsockname(fd, (void *)&at, &len);
	*ours = at.sin_addr;
	lower_fd_close(fd);
	return found;
}

void doors_open_to(const struct place *p)
{
	struct in_addr ours = {htonl(INADDR_LOOPBACK)};
	if (is_here(p)) {
		open_door(ours);
		return;
	}
	for (unsigned i = 0; i < p->naddress; i++)
		if (address_towards(p->address[i], &ours))
			open_door(ours);
}

/* A connection, or -errno. */
static int connect_to(struct in_addr address, int port)
{
	const struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = address, .sin_port = htons((uint16_t)port)};
	const int fd = keep_socket(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	if (!connect(fd, (const void *)&to, sizeof(to)))
		return fd;
	const int rc = -errno;
	lower_fd_close(fd);
	return rc;
}

static _Noreturn void unreached(const struct place *p, int rc)
{
	live_refuse("rank %d cannot be reached to connect sockets again: %s", p->rank, strerror(-rc));
}

int door_connect(const struct place *p)
{
	int fd = -EHOSTUNREACH;
	for (unsigned i = 0; i < p->ndoors && fd < 0; i++)
		if ((p->doors[i].address.s_addr == htonl(INADDR_LOOPBACK)) == is_here(p))
			fd = connect_to(p->doors[i].address, p->doors[i].port);
	if (fd < 0)
		unreached(p, fd);
	return fd;
}

int door_connect_listener(const struct place *p, int port)
{
	struct in_addr address = {htonl(INADDR_LOOPBACK)};
	int fd = -EHOSTUNREACH;
	for (unsigned i = 0; i < (is_here(p) ? 1 : p->naddress) && fd < 0; i++)
		if (is_here(p) || inet_pton(AF_INET, p->address[i], &address) == 1)
			fd = connect_to(address, port);
	if (fd < 0)
		unreached(p, fd);
	return fd;
}

int door_connect_local(const struct place *p)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	const size_t name = strlen(p->local);
	const int fd = keep_socket(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	memcpy(to.sun_path + 1, p->local, name);
	if (!is_here(p))
		live_refuse("one of its Unix sockets is connected to rank %d, which is not on this host", p->rank);
	if (connect(fd, (void *)&to, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + name)))
		unreached(p, -errno);
	return fd;
}

uint64_t door_proof(const struct place *accepts, const char *key, bool connects)
{
	uint8_t token[SIPHASH_KEY] = {0};
	struct siphash h;
	for (unsigned i = 0; i < SIPHASH_KEY; i++)
		sscanf(accepts->token + 2 * i, "%2hhx", &token[i]);
	siphash_begin(&h, token);
	siphash_add(&h, &connects, 1);
	siphash_add(&h, key, SOCKET_KEY);
	return siphash_end(&h);
}

bool door_hear(int fd, void *to, size_t len, int ms)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};
	size_t got = 0;
	ssize_t n = 1;
	while (got < len && n > 0 && poll(&one, 1, ms) == 1) {
		n = recv(fd, (char *)to + got, len - got, 0);
		got += n > 0 ? (size_t)n : 0;
	}
	return got == len;
}

int door_accept(void)
{
	struct pollfd doors[DOORS + 1];
	unsigned n = 0;
	for (; n < our_place.ndoors; n++)
		doors[n] = (struct pollfd){.fd = our_place.doors[n].fd, .events = POLLIN};
	if (our_place.local_fd)
		doors[n++] = (struct pollfd){.fd = our_place.local_fd, .events = POLLIN};
	poll(doors, n, LOOK_MS);
	for (unsigned i = 0; i < n; i++)
		if (doors[i].revents & POLLIN)
			return keep_socket(accept4(doors[i].fd, NULL, NULL, SOCK_CLOEXEC));
	return -1;
}

void doors_close(void)
{
	for (unsigned i = 0; i < our_place.ndoors; i++)
		lower_fd_close(our_place.doors[i].fd);
	if (our_place.local_fd)
		lower_fd_close(our_place.local_fd);
}

/* ---- in files ---- */

void place_write(FILE *f)
{
	fprintf(f, "place %s %s\n", our_place.token, our_place.host);
	for (unsigned i = 0; i < our_place.naddress; i++)
		fprintf(f, "address %s\n", our_place.address[i]);
}

void doors_write(FILE *f)
{
	for (unsigned i = 0; i < our_place.ndoors; i++)
		fprintf(f, "door %d %s\n", our_place.doors[i].port, inet_ntoa(our_place.doors[i].address));
	if (our_place.local_fd)
		fprintf(f, "local %s\n", our_place.local);
}

bool place_line(struct place *p, const char *line)
{
	struct door *door = &p->doors[p->ndoors % DOORS];
	char address[48];
	if (p->ndoors < DOORS && sscanf(line, "door %d %47s", &door->port, address) == 2) {
		p->ndoors += inet_pton(AF_INET, address, &door->address) == 1;
		return true;
	}
	if (p->naddress < ADDRESSES && sscanf(line, "address %47s", p->address[p->naddress]) == 1) {
		p->naddress++;
		return true;
	}
	return sscanf(line, "place %32s %159s", p->token, p->host) == 2 || sscanf(line, "local %31s", p->local) == 1;
}
