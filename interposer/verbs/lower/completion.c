/* Completion channels and queues. */
#include <time.h>
#include <unistd.h>
#include "numbers.h"
#include "plugin.h"
#include "synthetic_completions.h"
#include "completion_buffers.h"

enum { BATCH = 256 };

int64_t verbs_create_channel(const uint64_t *a)
{
	FIND(context, a[0], CONTEXT);
	struct object made = {.kind = CHANNEL, .parents = {context}};
	int fd = -1;
	int rc = provider->create_channel(context->handle, &made.handle, &fd);
	if (rc)
		return rc;
	int32_t shown = made.made.shown_fd = descriptor_shown(fd);
	if (shown < 0) {
		provider->destroy_channel(made.handle);
		return shown;
	}
	put(a[1], &shown, sizeof(shown));
	return object_made(0, &made);
}

int64_t verbs_destroy_channel(const uint64_t *a)
{
	FIND(channel, a[0], CHANNEL);
	int fd = channel->made.shown_fd;
	int64_t rc = object_destroy(a[0], CHANNEL, provider->destroy_channel);
	if (!rc)
		close(fd);
	return rc;
}

int64_t verbs_create_cq(const uint64_t *a)
{
	FIND(context, a[0], CONTEXT);
	struct object *channel = object_find(a[2], CHANNEL);
	if (a[2] && !channel)
		return -EINVAL;
	struct object made = {.kind = CQ, .parents = {context, channel}, .cookie = a[4]};
	int entries = made.made.cq.entries = *(const int32_t *)a[1];
	made.made.cq.vector = (int)a[3];
	int rc = provider->create_cq(context->handle, &entries, channel ? channel->handle : NULL, (int)a[3],
				     &made.handle);
	if (!rc)
		put(a[1], &entries, sizeof(entries));
	return object_made(rc, &made);
}

int64_t verbs_resize_cq(const uint64_t *a)
{
	FIND(cq, a[0], CQ);
	int asked = *(const int32_t *)a[1], entries = asked;
	int rc = provider->resize_cq(cq->handle, &entries);
	if (rc)
		return rc;
	cq->made.cq.entries = asked;
	put(a[1], &entries, sizeof(entries));
	return 0;
}

int64_t verbs_destroy_cq(const uint64_t *a)
{
	const struct object *cq = object_find(a[0], CQ);
	if (cq && synthetic && !cq->users)
		synthetic_gone(cq);
	return object_destroy(a[0], CQ, provider->destroy_cq);
}

/* All zero between calls: providers do not fill all fields.  Cleared after use, so that empty polls stay cheap. */
static struct ibv_wc wc[BATCH];
static struct {
	const struct object *cq; /* queue for which wc holds n completions of a quick poll; NULL: none */
	int n;
} found;

static int batch_of(int64_t want)
{
	return want < BATCH ? (int)want : BATCH;
}

bool verbs_polls_nothing(const uint64_t *a)
{
	const struct object *cq = object_find(a[0], CQ);
	if (!cq || synthetic || (int)a[1] <= 0)
		return false;
	found.n = provider->poll_cq(cq->handle, batch_of((int)a[1]), wc);
	found.cq = found.n ? cq : NULL;
	return !found.n;
}

/* Completions of a quick poll are in wc already.  It was the first poll of this call, so to == wc. */
static int poll_batch(const struct object *cq, int room, struct ibv_wc *to)
{
	if (found.cq != cq)
		return provider->poll_cq(cq->handle, room, to);
	found.cq = NULL;
	return found.n;
}

static uint64_t ns_of(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void put_stamp(uint64_t upper, uint64_t at)
{
	const struct verbs_stamp stamp = {.clock = at, .wall = ns_of(CLOCK_REALTIME) - (ns_of(CLOCK_MONOTONIC) - at)};
	put(upper, &stamp, sizeof(stamp));
}

int64_t verbs_poll_cq(const uint64_t *a)
{
	FIND(cq, a[0], CQ);
	if (a[3] && (!provider->completed_at || a[1] != 1))
		return -EINVAL;
	int64_t want = (int)a[1], got = 0;
	while (got < want) {
		int room = batch_of(want - got);
		int n = synthetic ? synthetic_poll(cq, room, wc) : 0;
		const bool polled = n > 0; /* one of before a restart, whose time is not known */
		if (n < room) {
			int more = poll_batch(cq, room - n, wc + n);
			if (more < 0 && !n)
				return got ? got : more;
			n += more > 0 ? more : 0;
		}
		if (n && a[3])
			put_stamp(a[3], polled ? ns_of(CLOCK_MONOTONIC) : provider->completed_at(cq->handle));
		completion_buffers_completed(wc, n);
		for (int i = 0; numbers_rebound && i < n; i++) {
			wc[i].qp_num = shown_qp_number(wc[i].qp_num);
			wc[i].src_qp = shown_peer_number(wc[i].src_qp);
		}
		put(a[2] + (uint64_t)got * sizeof(*wc), wc, (unsigned)n * sizeof(*wc));
		memset(wc, 0, (unsigned)n * sizeof(*wc));
		got += n;
		if (n < room)
			break;
	}
	return got;
}

int64_t verbs_notify_cq(const uint64_t *a)
{
	FIND(cq, a[0], CQ);
	return provider->req_notify_cq(cq->handle, (int)a[1]);
}

int64_t verbs_cq_event(const uint64_t *a)
{
	FIND(channel, a[0], CHANNEL);
	void *handle = NULL;
	const struct object *first = synthetic ? synthetic_event(channel) : NULL;
	if (first)
		return (int64_t)first->cookie;
	int rc = provider->cq_event(channel->handle, &handle);
	if (rc)
		return rc;
	const struct object *cq = object_of(handle, CQ);
	return cq ? (int64_t)cq->cookie : -EAGAIN;
}
