/* The sockets that a branch began with: its log does not say how they came to be.  `sockets-had` in its directory has
 * them, with the bytes that were written again.  `sockets-begun` tells readers of the log (rdb/live/sockets.py) which
 * connections there were, by which descriptors. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "restart/base/branch_file.h"
#include "restart/base/cut.h"
#include "restart/sockets/sockets.h"
#include "restart/sockets/socket_streams.h"

enum { MAGIC = 0x31736b73 };

struct saved_head {
	uint32_t magic, size, count;
};

struct saved_sock {
	uint32_t index, other; /* other: SOCKETS: none */
	struct sock sock;      /* its pointers do not count */
};

/* False: no process had either end open, so the connection is gone (in a tree: tree_ends_begun.c). */
static bool goes_on(const struct sock *s)
{
	return s->used && (tree() || (s->made && !(s->state == SOCKET_PAIRED && s->closed && s->other->closed)));
}

/* The key with a mark that no later connection can have. */
static void key_of(const struct sock *s, char out[SOCKET_KEY])
{
	const bool as_it_is = tree() || s->named_again || !*s->key;
	snprintf(out, SOCKET_KEY, "%s%.*s", as_it_is ? "" : "<", SOCKET_KEY - 2, s->key);
}

static void save_one(FILE *f, const struct sock *s)
{
	struct saved_sock one = {.index = (uint32_t)(s - sockets), .other = SOCKETS, .sock = *s};
	if (s->other)
		one.other = (uint32_t)(s->other - sockets);
	key_of(s, one.sock.key);
	one.sock.read = 0;
	one.sock.written = one.sock.tail_len = one.sock.tail_room = s->left;
	one.sock.left = 0;
	one.sock.made = 0;
	one.sock.named_again = false;
	for (const struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (socket_of(f) == s)
			one.sock.flags = f->flags & O_NONBLOCK;
	fwrite(&one, sizeof(one), 1, f);
	if (s->left)
		fwrite(s->tail + s->tail_len - s->left, s->left, 1, f);
}

static void say_one(FILE *f, const struct sock *s)
{
	char key[SOCKET_KEY];
	key_of(s, key);
	if (s->state == SOCKET_LISTENS && s->family != AF_UNIX)
		fprintf(f, "listen %d\n", ntohs(((const struct sockaddr_in *)&s->local)->sin_port));
	if (s->state == SOCKET_CONNECTS || s->state == SOCKET_ACCEPTED)
		fprintf(f, "end %d %lu %d %d %s", s->state == SOCKET_CONNECTS, (unsigned long)s->left, s->write_shut,
			s->closed, key);
	else if (s->state == SOCKET_PAIRED && tree())
		fprintf(f, "pair %d %lu %d %d %s", s->second, (unsigned long)s->left, s->write_shut, s->closed, key);
	else if (s->type != SOCK_STREAM)
		fprintf(f, "datagrams");
	else if (tree())
		fprintf(f, "alone");
	else
		return;
	for (unsigned fd = 0; fd < NUMBERS; fd++)
		if (socket_of(open_table.number[fd].file) == s)
			fprintf(f, " %u", fd);
	fprintf(f, "\n");
}

void sockets_save(void)
{
	struct saved_head head = {.magic = MAGIC, .size = sizeof(struct sock)};
	for (const struct sock *s = sockets; s < sockets + SOCKETS; s++)
		head.count += goes_on(s);
	if (tree() && !head.count)
		return;
	FILE *had = branch_file_begin("sockets-had"), *begun = branch_file_begin("sockets-begun");
	fwrite(&head, sizeof(head), 1, had);
	for (const struct sock *s = sockets; s < sockets + SOCKETS; s++)
		if (goes_on(s)) {
			save_one(had, s);
			say_one(begun, s);
		}
	branch_file_end(had, "sockets-had");
	branch_file_end(begun, "sockets-begun");
}

static bool load_one(FILE *f)
{
	static struct saved_sock one;
	if (fread(&one, sizeof(one), 1, f) != 1 || one.index >= SOCKETS || one.other > SOCKETS ||
	    one.sock.tail_len > 2ul * SOCKET_TAIL)
		return false;
	struct sock *s = &sockets[one.index];
	*s = one.sock;
	s->key[SOCKET_KEY - 1] = 0;
	s->other = one.other < SOCKETS ? &sockets[one.other] : NULL;
	s->tail = malloc(s->tail_len + 1);
	return s->tail && (!s->tail_len || fread(s->tail, s->tail_len, 1, f) == 1);
}

bool sockets_load(void)
{
	char path[4200];
	struct saved_head head;
	snprintf(path, sizeof(path), "%s/sockets-had", lower.opt.restart);
	FILE *f = fopen(path, "re");
	if (!f)
		return false;
	bool good = fread(&head, sizeof(head), 1, f) == 1 && head.magic == MAGIC && head.size == sizeof(struct sock) &&
		    head.count <= SOCKETS;
	for (uint32_t i = 0; good && i < head.count; i++)
		good = load_one(f);
	fclose(f);
	if (!good)
		live_refuse("%s is damaged, or written by another version of rdb", path);
	if (tree())
		socket_streams_loaded();
	return true;
}
