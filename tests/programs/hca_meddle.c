/* Somebody on the way between two software HCAs, who changes, repeats, swaps or leaves out frames: nothing of them is
 * carried out, and the connection ends.  "hca_meddle SCENARIO", with $HCA_TAGS. */
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include "hca_test.h"
#include "verbs/soft/wire.h"

enum { LENGTH = 20000, APART = 32768, AT = 2, ROOM = 1 << 20 };

enum how { AS_IT_IS, HEADER, PAYLOAD, TAG, TWICE, SWAPPED, LEFT_OUT, SHORTER, CUT, ANSWER };

struct way {
	int from, to;
	uint8_t data[ROOM];
	size_t have;
	unsigned frames;
};

static struct qp q;
static enum how how;
static struct way there, back;

static void put(int fd, const uint8_t *data, size_t len)
{
	while (len) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
		if (n <= 0)
			return; /* it has ended the connection */
		data += n;
		len -= (size_t)n;
	}
}

static void pass_spoiled(const struct way *w, uint8_t *frame, size_t len)
{
	static uint8_t kept[ROOM];
	static size_t nkept;
	const unsigned number = w->frames;
	if (how == HEADER && number == AT)
		frame[offsetof(struct frame, addr)] ^= 0x40;
	if (how == PAYLOAD && number == AT)
		frame[sizeof(struct frame) + 7] ^= 1;
	if ((how == TAG || how == ANSWER) && number == AT)
		frame[len - 1] ^= 0x80;
	if (how == LEFT_OUT && number == AT)
		return;
	if (how == SWAPPED && number == AT) {
		memcpy(kept, frame, nkept = len);
		return;
	}
	if (how == SHORTER && number == AT) {
		put(w->to, frame, len / 2);
		put(w->to, frame + len / 2 + 8, len - len / 2 - 8);
		return;
	}
	if (how == CUT && number == AT) {
		put(w->to, frame, len / 2);
		shutdown(w->to, SHUT_RDWR);
		return;
	}
	put(w->to, frame, len);
	if (how == TWICE && number == AT)
		put(w->to, frame, len);
	if (how == SWAPPED && number == AT + 1)
		put(w->to, kept, nkept);
}

/* Whole frames. */
static void pass(struct way *w, bool spoils)
{
	size_t done = 0;
	struct frame f;
	ssize_t n = read(w->from, w->data + w->have, sizeof(w->data) - w->have);
	w->have += n > 0 ? (size_t)n : 0;
	if (n <= 0)
		shutdown(w->to, SHUT_RDWR);
	while (w->have - done >= sizeof(f)) {
		memcpy(&f, w->data + done, sizeof(f));
		const size_t len = sizeof(f) + f.length + FRAME_TAG;
		if (w->have - done < len)
			break;
		if (spoils)
			pass_spoiled(w, w->data + done, len);
		else
			put(w->to, w->data + done, len);
		w->frames++;
		done += len;
	}
	memmove(w->data, w->data + done, w->have -= done);
}

static void *meddle(void *unused)
{
	struct pollfd p[2] = {{.fd = there.from, .events = POLLIN}, {.fd = back.from, .events = POLLIN}};
	for (;;) {
		poll(p, 2, -1);
		if (p[0].revents)
			pass(&there, how != ANSWER);
		if (p[1].revents)
			pass(&back, how == ANSWER);
		if (p[0].revents & POLLHUP && p[1].revents & POLLHUP)
			return unused;
	}
}

/* Takes the place of the one connection that there is. */
static void come_between(void)
{
	struct sockaddr_in peer;
	int pair[2], found = -1;
	pthread_t thread;
	for (int fd = 3; fd < 1024; fd++) {
		socklen_t len = sizeof(peer);
		if (getpeername(fd, (struct sockaddr *)&peer, &len) || peer.sin_family != AF_INET)
			continue;
		CHECK(found < 0);
		found = fd;
	}
	CHECK(found >= 0 && !socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	there.to = back.from = dup(found);
	there.from = back.to = pair[1];
	CHECK(there.to >= 0 && dup2(pair[0], found) == found && !close(pair[0]));
	CHECK(!fcntl(there.to, F_SETFL, 0));
	CHECK(!pthread_create(&thread, NULL, meddle, NULL));
}

static void write_one(unsigned i)
{
	fill(buffer + i * APART, LENGTH, i);
	post_rdma(&q, i, IBV_WR_RDMA_WRITE, buffer + i * APART, LENGTH, peer_buffer + i * APART, peer_rkey);
}

/* How many of the frames are carried out: those before the spoiled one, itself if it is whole. */
static void spoil(enum how which)
{
	const unsigned good = which == AS_IT_IS ? AT + 2 : which == TWICE || which == ANSWER ? AT + 1 : AT;
	how = which;
	q = qp_make(IBV_QPT_RC);
	qp_connect(&q);
	if (!me) {
		post_rdma(&q, 99, IBV_WR_RDMA_WRITE, buffer, 0, peer_buffer, peer_rkey);
		wait_wc(99, IBV_WC_SUCCESS);
		come_between();
		for (unsigned i = 0; i < AT; i++) {
			write_one(i);
			wait_wc(i, IBV_WC_SUCCESS);
		}
		write_one(AT);
		if (which != ANSWER) /* its answer might speak for both */
			write_one(AT + 1);
		for (unsigned i = AT; i < AT + (which == ANSWER ? 1 : 2); i++) {
			const struct ibv_wc wc = wait_wc_on(cq);
			const bool good_too = which == AS_IT_IS ||
					      (which == TWICE && i == AT); /* if it was answered in time */
			CHECK(wc.wr_id == i && (good_too || wc.status) && (which != AS_IT_IS || !wc.status));
		}
	}
	barrier();
	for (unsigned i = 0; me && i < good; i++)
		check_filled(buffer + i * APART, LENGTH, i);
	CHECK(written == (me ? (uint64_t)good * LENGTH : 0));
	for (size_t i = 0; me && i < APART; i++)
		CHECK(!buffer[good * APART + i]);
}

static void as_it_is(void)
{
	spoil(AS_IT_IS);
}

static void header(void)
{
	spoil(HEADER);
}

static void payload(void)
{
	spoil(PAYLOAD);
}

static void tag(void)
{
	spoil(TAG);
}

static void twice(void)
{
	spoil(TWICE);
}

static void swapped(void)
{
	spoil(SWAPPED);
}

static void left_out(void)
{
	spoil(LEFT_OUT);
}

static void shorter(void)
{
	spoil(SHORTER);
}

static void cut(void)
{
	spoil(CUT);
}

static void answer(void)
{
	spoil(ANSWER);
}

static const struct scenario all[] = {
	{"as_it_is", as_it_is}, {"header", header},     {"payload", payload}, {"tag", tag}, {"twice", twice},
	{"swapped", swapped},   {"left_out", left_out}, {"shorter", shorter}, {"cut", cut}, {"answer", answer},
};

int main(int argc, char **argv)
{
	return run_scenario(all, sizeof(all) / sizeof(*all), argc > 1 ? argv[1] : "");
}
