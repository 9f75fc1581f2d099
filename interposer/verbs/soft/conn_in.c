/* Input of a connection: frames, each checked before it is carried out.  Long payloads are received in place; all else,
 * and all tagged frames, go through a buffer. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include "conn.h"
#include "qp.h"

/* Reports the origin of bytes of a message that are in their place now. */
static void placed_of(const struct hca_conn *c, const void *upper, size_t len, uint32_t offset)
{
	const struct frame *f = &c->in.frame;
	const struct hca_qp *qp = c->in.sink.qp;
	if (!hca.above->arrival || f->op >= FRAME_ACK || !qp)
		return;
	hca.above->arrival(&(struct verbs_arrival){.upper = upper,
						   .len = len,
						   .source = f->source,
						   .dest = f->dest,
						   .number = (f->seq - qp->attr.rq_psn) & FRAME_NUMBERS,
						   .offset = offset});
}

/* Puts n bytes of a payload into the sink; `from` NULL: they are in their place already. */
static void deliver(struct hca_conn *c, const uint8_t *from, size_t n)
{
	struct hca_sink *s = &c->in.sink;
	uint32_t offset = c->in.frame.offset + c->in.frame.length - c->in.left;
	if (s->kind == SINK_SMALL && from)
		memcpy(c->in.small + (c->in.frame.length - c->in.left), from, n);
	c->in.left -= (uint32_t)n;
	while (s->kind == SINK_SPANS && n) {
		struct hca_span *span = &s->spans[s->at];
		size_t part = span->len - s->done < n ? span->len - s->done : n;
		if (from) {
			if (!hca_copy_up(span->addr + s->done, from, part)) {
				s->kind = SINK_DISCARD;
				s->faulted = true;
				return;
			}
			from += part;
		} else if (part) {
			hca.above->wrote(span->addr + s->done, part);
		}
		if (part)
			placed_of(c, span->addr + s->done, part, offset);
		offset += (uint32_t)part;
		n -= part;
		s->done += part;
		if (s->done == span->len) {
			s->at++;
			s->done = 0;
		}
	}
}

static void frame_begins(struct hca_conn *c)
{
	const struct frame *f = &c->in.frame;
	c->in.sink = (struct hca_sink){.kind = SINK_DISCARD};
	c->in.left = f->length;
	if (f->op == FRAME_DATAGRAM || f->op == FRAME_MULTICAST)
		hca_ud_begin(c, f, &c->in.sink);
	else if (f->op < FRAME_ACK)
		hca_rx_begin(c, f, &c->in.sink);
	else
		hca_sq_answer(c, f, &c->in.sink);
}

static void frame_ends(struct hca_conn *c)
{
	const struct frame *f = &c->in.frame;
	const struct hca_sink *s = &c->in.sink;
	bool good = !s->faulted;
	if (f->op == FRAME_DATAGRAM || f->op == FRAME_MULTICAST)
		hca_ud_end(c, f, good);
	else if (!s->qp)
		return; /* its queue pair refused it or has ended */
	else if (f->op < FRAME_ACK)
		hca_rx_end(c, f, good);
	else
		hca_sq_answer_end(c, f, good);
	c->in.sink.qp = NULL;
}

static bool take_auth(struct hca_conn *c)
{
	int used = hca_auth_take(c, c->in.buf + c->in.start, c->in.end - c->in.start);
	if (used < 0)
		hca_conn_fail(c, NULL);
	else
		c->in.start += (size_t)used;
	return used > 0;
}

/* Whether the whole frame is in the buffer and its tag is right. */
static bool tag_fits(struct hca_conn *c, const struct frame *f, size_t have)
{
	const uint8_t *from = c->in.buf + c->in.start;
	const size_t len = sizeof(*f) + f->length;
	uint64_t tag;
	if (f->length <= FRAME_PAYLOAD && have < len + FRAME_TAG)
		return false;
	if (f->length <= FRAME_PAYLOAD) {
		memcpy(&tag, from + len, sizeof(tag));
		if (tag == frame_tag(c->in.key, c->in.number++, from, len))
			return true;
	}
	hca_conn_fail(c, "a frame that was changed, repeated or left out on the way");
	return false;
}

/* Handles the bytes in the buffer; returns the number of frames that ended. */
static int parse(struct hca_conn *c)
{
	int frames = 0;
	while (c->state == CONN_AUTH && c->in.start < c->in.end)
		if (!take_auth(c))
			return 0;
	while (c->state == CONN_UP) {
		size_t have = c->in.end - c->in.start;
		if (!c->in.in_payload) {
			if (have < sizeof(c->in.frame))
				break;
			memcpy(&c->in.frame, c->in.buf + c->in.start, sizeof(c->in.frame));
			if (c->tagged && !tag_fits(c, &c->in.frame, have))
				break;
			c->in.start += sizeof(c->in.frame);
			if (!frame_valid(&c->in.frame)) {
				hca_conn_fail(c, "the peer sent an invalid frame");
				break;
			}
			c->in.in_payload = true;
			frame_begins(c);
		} else if (c->in.left) {
			if (!have)
				break;
			size_t n = have < c->in.left ? have : c->in.left;
			deliver(c, c->in.buf + c->in.start, n);
			c->in.start += n;
		}
		if (c->state == CONN_UP && c->in.in_payload && !c->in.left) {
			c->in.in_payload = false;
			c->in.start += c->tagged ? FRAME_TAG : 0;
			frame_ends(c);
			frames++;
		}
	}
	return frames;
}

/* Destinations of the next bytes: the rest of a payload (*direct bytes), then the buffer.  Returns their number. */
static int room_for_more(struct hca_conn *c, struct iovec *v, size_t *direct)
{
	struct hca_sink *s = &c->in.sink;
	size_t left = c->in.left, rest = c->in.end - c->in.start;
	int n = 0;
	*direct = 0;
	if (c->in.start) {
		memmove(c->in.buf, c->in.buf + c->in.start, rest);
		c->in.start = 0;
		c->in.end = rest;
	}
	size_t room = c->in.room - c->in.end;
	if (c->in.in_payload && left && s->kind == SINK_SPANS) {
		size_t done = s->done;
		for (unsigned i = s->at; i < s->nspans && left; i++, done = 0) {
			size_t len = s->spans[i].len - done < left ? s->spans[i].len - done : left;
			if (len)
				v[n++] = (struct iovec){s->spans[i].addr + done, len};
			left -= len;
			*direct += len;
		}
		room = CONN_IN_TAIL;
	}
	v[n++] = (struct iovec){c->in.buf + c->in.end, room};
	return n;
}

static ssize_t receive(struct hca_conn *c, size_t *asked)
{
	struct iovec v[HCA_MAX_SGE + 2];
	size_t direct;
	int n = room_for_more(c, v, &direct);
	struct msghdr m = {.msg_iov = v, .msg_iovlen = (size_t)n};
	*asked = direct + v[n - 1].iov_len;
	ssize_t got = recvmsg(c->fd, &m, MSG_DONTWAIT);
	if (got < 0 && errno == EFAULT && direct) {
		/* The program unmapped the memory: discard the rest. */
		c->in.sink.kind = SINK_DISCARD;
		c->in.sink.faulted = true;
		errno = EINTR;
	}
	if (got <= 0)
		return got;
	size_t placed = (size_t)got < direct ? (size_t)got : direct;
	if (placed)
		deliver(c, NULL, placed);
	c->in.end += (size_t)got - placed;
	return got;
}

int hca_conn_read(struct hca_conn *c)
{
	int frames = 0;
	size_t budget = CONN_READ_BUDGET, asked;
	while (c->state == CONN_UP || c->state == CONN_AUTH) {
		/* Reads no more requests from a peer that does not read our answers. */
		if (c->out.count > CONN_PIECES / 2 && c->out.blocked)
			break;
		ssize_t got = receive(c, &asked);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			break;
		if (got <= 0) {
			hca_conn_fail(c, NULL);
			frames++;
			break;
		}
		frames += parse(c);
		if ((size_t)got < asked || (size_t)got >= budget)
			break;
		budget -= (size_t)got;
	}
	return frames;
}

int hca_conn_feed(struct hca_conn *c, const uint8_t *data, size_t len)
{
	int frames = 0;
	while (len && (c->state == CONN_UP || c->state == CONN_AUTH)) {
		struct iovec v[HCA_MAX_SGE + 2];
		size_t direct, done = 0;
		int n = room_for_more(c, v, &direct);
		for (int i = 0; i < n && len; i++) {
			size_t part = v[i].iov_len < len ? v[i].iov_len : len;
			memcpy(v[i].iov_base, data, part);
			data += part;
			len -= part;
			done += part;
		}
		size_t placed = done < direct ? done : direct;
		if (placed)
			deliver(c, NULL, placed);
		c->in.end += done - placed;
		frames += parse(c);
	}
	return frames;
}
