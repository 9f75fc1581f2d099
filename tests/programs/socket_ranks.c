/* Ranks without MPI: rank 0 listens, by TCP and at a path, the others connect: `prog RECORDS`, started by mpirun.  Each
 * sends records ahead of the answers; what came twice, not at all or in another order would show, at either end. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "check_errno.h"

enum { WINDOW = 24, LONGEST = 3000, LAG = 3, CLIENTS = 16 };

struct head {
	uint32_t number, len;
};

static uint32_t length(int from, uint32_t number)
{
	return 1 + (number * 997 + (uint32_t)from * 131) % LONGEST;
}

static unsigned char byte_of(int from, uint32_t number, uint32_t i)
{
	return (unsigned char)((uint32_t)from * 17 + number * 5 + i);
}

static void say(const char *text, int of, uint32_t number)
{
	char line[80];
	int n = snprintf(line, sizeof(line), "%s %d: %u\n", text, of, number);
	CHECK(write(1, line, (size_t)n) == n);
}

static void put_all(int fd, const void *data, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = send(fd, (const char *)data + done, len - done, 0);
		CHECK(n > 0);
		done += (size_t)n;
	}
}

static void get_all(int fd, void *data, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = read(fd, (char *)data + done, len - done);
		CHECK(n > 0);
		done += (size_t)n;
	}
}

/* ---- rank 0 ---- */

struct client {
	int fd, from;
	uint32_t number;
	size_t have;
	unsigned char buffer[sizeof(struct head) + LONGEST + 1];
};

/* False: it has said all. */
static int hear(struct client *c)
{
	struct head h;
	ssize_t n = recv(c->fd, c->buffer + c->have, sizeof(c->buffer) - c->have, 0);
	CHECK(n >= 0);
	c->have += (size_t)n;
	while (c->have >= sizeof(h)) {
		memcpy(&h, c->buffer, sizeof(h));
		CHECK(h.number == c->number && h.len == length(c->from, h.number));
		if (c->have < sizeof(h) + h.len)
			break;
		for (uint32_t i = 0; i < h.len; i++)
			CHECK(c->buffer[sizeof(h) + i] == byte_of(c->from, h.number, i));
		c->have -= sizeof(h) + h.len;
		memmove(c->buffer, c->buffer + sizeof(h) + h.len, c->have);
		uint32_t answer = h.number ^ 0x5a5a5a5a;
		put_all(c->fd, &answer, sizeof(answer));
		if (++c->number % 40 == 0)
			say("heard of", c->from, c->number);
	}
	CHECK(n || !c->have);
	return n > 0;
}

static int listen_at(const void *at, socklen_t len, int family)
{
	int s = socket(family, SOCK_STREAM, 0);
	CHECK(s >= 0 && bind(s, at, len) == 0 && listen(s, CLIENTS) == 0);
	return s;
}

static void serve(unsigned ranks, uint32_t records)
{
	static struct client clients[CLIENTS];
	struct pollfd polled[CLIENTS];
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "meet.sock"};
	socklen_t len = sizeof(in);
	int tcp = listen_at(&in, sizeof(in), AF_INET), path = listen_at(&un, sizeof(un), AF_UNIX);
	unsigned left = ranks - 1;
	CHECK(getsockname(tcp, (void *)&in, &len) == 0);
	FILE *f = fopen("port.new", "w");
	CHECK(f && fprintf(f, "%d\n", ntohs(in.sin_port)) > 0 && fclose(f) == 0 && rename("port.new", "port") == 0);
	for (unsigned i = 0; i < ranks - 1; i++) {
		clients[i].fd = accept(i ? tcp : path, NULL, NULL);
		CHECK(clients[i].fd >= 0);
		uint32_t from;
		get_all(clients[i].fd, &from, sizeof(from));
		clients[i].from = (int)from;
	}
	while (left) {
		for (unsigned i = 0; i < ranks - 1; i++)
			polled[i] = (struct pollfd){.fd = clients[i].fd, .events = POLLIN};
		CHECK(poll(polled, ranks - 1, -1) > 0);
		for (unsigned i = 0; i < ranks - 1; i++)
			if (polled[i].revents && !hear(&clients[i])) {
				CHECK(clients[i].number == records);
				say("end of", clients[i].from, clients[i].number);
				close(clients[i].fd);
				clients[i].fd = -1;
				left--;
			}
	}
	close(tcp);
	close(path);
}

/* ---- the others ---- */

static int connected(int rank)
{
	char text[16];
	FILE *f;
	while (!(f = fopen("port", "r")))
		usleep(5000);
	CHECK(fgets(text, sizeof(text), f));
	fclose(f);
	struct sockaddr_in in = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				 .sin_port = htons((uint16_t)atoi(text))};
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "meet.sock"};
	int s = socket(rank == 1 ? AF_UNIX : AF_INET, SOCK_STREAM, 0);
	CHECK(s >= 0);
	CHECK(connect(s, rank == 1 ? (void *)&un : (void *)&in, rank == 1 ? sizeof(un) : sizeof(in)) == 0);
	return s;
}

static void ask(int rank, uint32_t records)
{
	static unsigned char body[LONGEST + 1];
	uint32_t from = (uint32_t)rank, sent = 0, got = 0, answer, old;
	int s = connected(rank), pair[2];
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	put_all(s, &from, sizeof(from));
	while (got < records) {
		while (sent < records && sent < got + WINDOW) {
			struct head h = {.number = sent, .len = length(rank, sent)};
			for (uint32_t i = 0; i < h.len; i++)
				body[i] = byte_of(rank, sent, i);
			put_all(s, &h, sizeof(h));
			put_all(s, body, h.len);
			sent++;
		}
		get_all(s, &answer, sizeof(answer));
		CHECK((answer ^ 0x5a5a5a5a) == got);
		put_all(pair[0], &answer, sizeof(answer));
		if (got >= LAG) {
			get_all(pair[1], &old, sizeof(old));
			CHECK((old ^ 0x5a5a5a5a) == got - LAG);
		}
		if (++got % 40 == 0)
			say("answered", rank, got);
	}
	CHECK(shutdown(s, SHUT_WR) == 0);
	CHECK(read(s, &answer, 1) == 0);
	say("done", rank, got);
	close(s);
}

int main(int argc, char **argv)
{
	const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *ranks = getenv("OMPI_COMM_WORLD_SIZE");
	const uint32_t records = argc > 1 ? (uint32_t)atoi(argv[1]) : 200;
	CHECK(rank && ranks && atoi(ranks) > 1 && atoi(ranks) <= CLIENTS);
	if (atoi(rank) == 0)
		serve((unsigned)atoi(ranks), records);
	else
		ask(atoi(rank), records);
	return 0;
}
