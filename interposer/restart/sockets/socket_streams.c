#include "restart/sockets/socket_streams.h"
#include <stdio.h>
#include <unistd.h>
#include "restart/base/streams.h"
#include "replay/replay.h"

enum { NUMBERED = 1u << 31 };

void socket_stream_named(struct sock *s)
{
	snprintf(s->key, sizeof(s->key), "of-%s-at-%lu", lower.opt.process, (unsigned long)replay_record()->event);
}

/* FNV-1a of the key and the end.  Streams of pipes have small numbers. */
uint32_t socket_stream_from(const struct sock *s, bool second)
{
	uint32_t hash = 2166136261u;
	for (const char *c = s->key; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 16777619u;
	return NUMBERED | ((hash ^ second) * 16777619u);
}

void socket_stream_moved(const struct sock *s, const void *bytes, uint64_t len, bool writing)
{
	if (s->type == SOCK_STREAM || s->state == SOCKET_PAIRED)
		stream_moved(socket_stream_from(s, writing == s->second), bytes, len, writing);
}

void socket_streams_loaded(void)
{
	for (struct sock *s = sockets; s < sockets + SOCKETS; s++) {
		const struct sock *first = s->other && s->other < s ? s->other : s;
		if (!s->used)
			continue;
		if (!*s->key) /* the branch had no other process then */
			snprintf(s->key, sizeof(s->key), "<pair-%d", (int)(first - sockets));
		if (s->tail_len)
			stream_began(socket_stream_from(s, s->second), s->tail, s->tail_len);
	}
}

/* ---- from one program to another ---- */

bool sockets_hand_on(int fd)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < SOCKETS; i++)
		n = sockets[i].used ? i + 1 : n;
	const size_t len = n * sizeof(*sockets);
	return write(fd, &n, sizeof(n)) == sizeof(n) && write(fd, sockets, len) == (ssize_t)len;
}

bool sockets_inherit(int fd)
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
