/* Output of a connection: pieces in order, some copied, some still in the program's memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include "conn.h"

static struct hca_piece *piece(struct hca_conn *c, unsigned i)
{
	return &c->out.ring[(c->out.head + i) % CONN_PIECES];
}

static struct hca_piece *add_piece(struct hca_conn *c)
{
	if (c->out.count == CONN_PIECES) {
		hca_conn_fail(c, "the peer does not read");
		return NULL;
	}
	struct hca_piece *p = piece(c, c->out.count++);
	*p = (struct hca_piece){0};
	return p;
}

bool hca_conn_has_room(const struct hca_conn *c)
{
	return c->state == CONN_UP && c->out.count < CONN_PIECES / 2 && c->out.queued < CONN_QUEUED_MAX;
}

/* Adds the tag to the last frame, whose payload is complete by now. */
static void seal(struct hca_conn *c)
{
	struct frame f;
	if (!c->out.open)
		return;
	memcpy(&f, c->out.open, sizeof(f));
	const size_t len = sizeof(f) + f.length;
	const uint64_t tag = frame_tag(c->out.key, c->out.number++, c->out.open, len);
	memcpy(c->out.open + len, &tag, sizeof(tag));
	c->out.open = NULL;
}

uint8_t *hca_conn_put_raw(struct hca_conn *c, size_t len)
{
	struct hca_piece *p = c->out.count ? piece(c, c->out.count - 1) : NULL;
	if (c->state == CONN_DEAD)
		return NULL;
	seal(c);
	if (!p || !p->owned || p->room - p->len < len) {
		size_t room = len > CONN_CHUNK ? len : CONN_CHUNK;
		uint8_t *chunk = malloc(room);
		if (!chunk) {
			hca_conn_fail(c, "out of memory");
			return NULL;
		}
		p = add_piece(c);
		if (!p) {
			free(chunk);
			return NULL;
		}
		p->owned = chunk;
		p->data = chunk;
		p->room = room;
	}
	uint8_t *to = p->owned + p->len;
	p->len += len;
	c->out.queued += len;
	return to;
}

static size_t frame_bytes(const struct hca_conn *c, const struct frame *f)
{
	return sizeof(*f) + f->length + (c->tagged ? FRAME_TAG : 0);
}

uint8_t *hca_conn_put(struct hca_conn *c, const struct frame *f)
{
	uint8_t *to = hca_conn_put_raw(c, frame_bytes(c, f));
	if (!to)
		return NULL;
	memcpy(to, f, sizeof(*f));
	c->out.open = c->tagged ? to : NULL;
	return to + sizeof(*f);
}

static bool readable(const struct hca_span *s)
{
	uint64_t page = 4096;
	uint8_t byte;
	for (uint64_t at = (uint64_t)s->addr; at < (uint64_t)s->addr + s->len; at = (at / page + 1) * page)
		if (!hca_copy(&byte, (const void *)at, 1))
			return false;
	return true;
}

/* Removes the last frame. */
static void take_back(struct hca_conn *c, size_t len)
{
	piece(c, c->out.count - 1)->len -= len;
	c->out.queued -= len;
	c->out.open = NULL;
}

static bool put_copy(struct hca_conn *c, const struct frame *f, const struct hca_span *spans, unsigned n)
{
	uint8_t *to = hca_conn_put(c, f);
	for (unsigned i = 0; to && i < n; to += spans[i++].len)
		if (hca_copy(to, spans[i].addr, spans[i].len) < spans[i].len) {
			take_back(c, frame_bytes(c, f));
			return false;
		}
	return true;
}

bool hca_conn_put_spans(struct hca_conn *c, const struct frame *f, struct hca_qp *qp, const struct hca_span *spans,
			unsigned n, bool copy)
{
	/* A tagged payload is copied: the program may change its memory between tagging and sending. */
	if (copy || c->tagged || f->length <= CONN_COPY_MAX || n > CONN_PIECES / 4)
		return put_copy(c, f, spans, n);
	for (unsigned i = 0; i < n; i++)
		if (!readable(&spans[i]))
			return false;
	uint8_t *to = hca_conn_put_raw(c, sizeof(*f));
	if (to)
		memcpy(to, f, sizeof(*f));
	for (unsigned i = 0; to && i < n; i++) {
		struct hca_piece *p = add_piece(c);
		if (!p)
			break;
		p->data = spans[i].addr;
		p->len = spans[i].len;
		p->qp = qp;
		c->out.queued += p->len;
	}
	return true;
}

static void pop(struct hca_conn *c)
{
	free(piece(c, 0)->owned);
	c->out.head = (c->out.head + 1) % CONN_PIECES;
	c->out.count--;
}

static void sent(struct hca_conn *c, size_t n)
{
	c->out.queued -= n;
	while (c->out.count) {
		struct hca_piece *p = piece(c, 0);
		size_t part = p->len - p->sent < n ? p->len - p->sent : n;
		p->sent += part;
		n -= part;
		if (p->sent < p->len)
			return;
		if (c->out.count == 1 && p->owned && p->room == CONN_CHUNK) {
			p->len = p->sent = 0; /* the chunk is used again for the next frames */
			p->data = p->owned;
			return;
		}
		pop(c);
	}
}

static void blocked(struct hca_conn *c, bool is)
{
	if (c->out.blocked == is)
		return;
	c->out.blocked = is;
	hca_watch(c->fd, c, false, is);
}

void hca_conn_flush(struct hca_conn *c)
{
	seal(c);
	while (c->state != CONN_DEAD && c->state != CONN_CONNECTING && c->out.queued) {
		struct iovec v[CONN_PIECES];
		struct msghdr m = {.msg_iov = v};
		for (unsigned i = 0; i < c->out.count; i++) {
			struct hca_piece *p = piece(c, i);
			if (p->len > p->sent)
				v[m.msg_iovlen++] = (struct iovec){(void *)(p->data + p->sent), p->len - p->sent};
		}
		size_t all = c->out.queued;
		ssize_t n = sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			blocked(c, true);
			return;
		}
		if (n < 0) {
			hca_conn_fail(c, errno == EFAULT ? "memory that was to be sent has been unmapped" : NULL);
			return;
		}
		sent(c, (size_t)n);
		if ((size_t)n < all) {
			blocked(c, true);
			return;
		}
	}
	if (c->state != CONN_DEAD)
		blocked(c, false);
}

void hca_conn_own(struct hca_conn *c, const struct hca_qp *qp, const uint8_t *low, const uint8_t *high)
{
	for (unsigned i = 0; i < c->out.count; i++) {
		struct hca_piece *p = piece(c, i);
		if (p->owned || (qp ? p->qp != qp : p->data >= high || p->data + p->len <= low))
			continue;
		uint8_t *copy = malloc(p->len ? p->len : 1);
		if (!copy || hca_copy(copy, p->data, p->len) < p->len) { /* the program may have unmapped the memory */
			free(copy);
			hca_conn_fail(c, "memory that was to be sent has been unmapped");
			return;
		}
		p->data = p->owned = copy;
		p->room = p->len;
		p->qp = NULL;
	}
}

void hca_conn_out_free(struct hca_conn *c)
{
	while (c->out.count)
		pop(c);
}
