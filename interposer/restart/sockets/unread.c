#include "restart/sockets/unread.h"
#include <stdlib.h>
#include <string.h>
#include "restart/base/cut.h"

enum { LINE = 256 }; /* bytes in one line */

/* Unread bytes of our sockets, by their index; `far`: of the other ranks', by name. */
static struct {
	uint8_t *bytes;
	uint64_t len;
} had[SOCKETS];

static struct far_bytes {
	char key[SOCKET_KEY];
	unsigned connects;
	uint8_t *bytes;
	uint64_t len, room;
} * far;
static unsigned nfar;

void unread_had(const struct sock *s, uint8_t *bytes, uint64_t len)
{
	had[s - sockets].bytes = bytes;
	had[s - sockets].len = len;
}

void unread_write_down(FILE *f)
{
	for (const struct sock *s = sockets; s < sockets + SOCKETS; s++) {
		const uint64_t len = had[s - sockets].len;
		if (!s->used || (s->state != SOCKET_CONNECTS && s->state != SOCKET_ACCEPTED))
			continue;
		for (uint64_t at = 0; at < len; at += LINE) {
			fprintf(f, "unread %u ", s->state == SOCKET_CONNECTS);
			for (uint64_t i = at; i < at + LINE && i < len; i++)
				fprintf(f, "%02x", had[s - sockets].bytes[i]);
			fprintf(f, " %s\n", s->key);
		}
	}
}

static struct far_bytes *far_of(const char *key, unsigned connects, bool make)
{
	for (unsigned i = nfar; i-- > 0;)
		if (far[i].connects == connects && !strcmp(far[i].key, key))
			return &far[i];
	if (!make)
		return NULL;
	void *p = realloc(far, (nfar + 1ul) * sizeof(*far));
	if (!p)
		live_refuse("out of memory for its sockets");
	far = p;
	far[nfar] = (struct far_bytes){.connects = connects};
	snprintf(far[nfar].key, sizeof(far[nfar].key), "%s", key);
	return &far[nfar++];
}

bool unread_line(const char *line)
{
	char hex[2 * LINE + 1], key[SOCKET_KEY];
	unsigned connects, byte;
	if (sscanf(line, "unread %u %512s %319s", &connects, hex, key) != 3)
		return false;
	struct far_bytes *f = far_of(key, connects, true);
	if (f->len + LINE > f->room) {
		f->room = 2 * (f->len + LINE);
		f->bytes = realloc(f->bytes, f->room);
		if (!f->bytes)
			live_refuse("out of memory for its sockets");
	}
	for (const char *at = hex; sscanf(at, "%2x", &byte) == 1; at += 2)
		f->bytes[f->len++] = (uint8_t)byte;
	return true;
}

static void wrote(struct sock *s, const uint8_t *bytes, uint64_t len)
{
	s->read = 0;
	s->written = 0;
	s->tail_len = s->tail_room = 0;
	s->tail = NULL;
	if (len)
		socket_moved(s, bytes, len, true);
}

void unread_known(void)
{
	for (struct sock *s = sockets; s < sockets + SOCKETS; s++) {
		if (!s->used)
			continue;
		if (s->state == SOCKET_PAIRED) {
			wrote(s, had[s->other - sockets].bytes, had[s->other - sockets].len);
			continue;
		}
		if (s->state != SOCKET_CONNECTS && s->state != SOCKET_ACCEPTED)
			continue;
		const struct far_bytes *f = far_of(s->key, s->state != SOCKET_CONNECTS, false);
		if (f)
			wrote(s, f->bytes, f->len);
	}
}

uint64_t unread_of(const struct sock *s, const uint8_t **bytes)
{
	if (bytes)
		*bytes = had[s - sockets].bytes;
	return had[s - sockets].len;
}
