#include "synthetic_completions.h"
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "numbers.h"

struct synthetic {
	struct synthetic *next;
	uint32_t object;
	struct ibv_wc *wc; /* of a completion queue; with the provider's numbers */
	unsigned at, count, events;
	int event_fd; /* of a channel or context: semaphore eventfd, counts our events */
	struct {
		int type;
		uint32_t object;
	} * async;
	unsigned nasync, async_at;
};

bool synthetic;
static struct synthetic *all;

static struct synthetic *find(const struct object *o)
{
	struct synthetic *r = all;
	while (r && (!o || r->object != o->id))
		r = r->next;
	return r;
}

static struct synthetic *add(const struct object *o)
{
	struct synthetic *r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	*r = (struct synthetic){.next = all, .object = o->id, .event_fd = -1};
	all = r;
	synthetic = true;
	return r;
}

static int watch(int both, int fd)
{
	return epoll_ctl(both, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN}) ? -errno : 0;
}

int synthetic_channel(const struct object *channel, int fd)
{
	struct synthetic *r = add(channel);
	int both = host->keep_descriptor(epoll_create1(EPOLL_CLOEXEC));
	if (!r || both < 0)
		return r ? both : -ENOMEM;
	r->event_fd = host->keep_descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE));
	int rc = r->event_fd < 0 ? r->event_fd : watch(both, fd);
	if (!rc)
		rc = watch(both, r->event_fd);
	return rc ? rc : both;
}

int synthetic_queue(const struct object *cq, const struct verbs_queued *queued)
{
	struct synthetic *r = add(cq), *channel = find(cq->parents[1]);
	if (!r)
		return -ENOMEM;
	r->wc = calloc(queued->count ? queued->count : 1, sizeof(*r->wc));
	if (!r->wc)
		return -ENOMEM;
	for (unsigned i = 0; i < queued->count; i++)
		r->wc[i] = queued->completed[i].wc;
	r->count = queued->count;
	r->events = channel ? queued->events : 0;
	const uint64_t events = r->events;
	if (events && write(channel->event_fd, &events, sizeof(events)) != sizeof(events))
		return -errno;
	return queued->armed ? provider->req_notify_cq(cq->handle, queued->solicited_only) : 0;
}

int synthetic_poll(const struct object *cq, int n, struct ibv_wc *wc)
{
	struct synthetic *r = find(cq);
	int got = 0;
	while (r && r->at < r->count && got < n)
		wc[got++] = r->wc[r->at++];
	return got;
}

const struct object *synthetic_event(const struct object *channel)
{
	struct synthetic *of = find(channel);
	for (struct synthetic *r = of ? all : NULL; r; r = r->next) {
		const struct object *cq = r->events ? object_find(r->object, CQ) : NULL;
		uint64_t one;
		if (!cq || cq->parents[1] != channel || read(of->event_fd, &one, sizeof(one)) != sizeof(one))
			continue;
		r->events--;
		return cq;
	}
	return NULL;
}

int synthetic_add_async(const struct object *context, int type, const struct object *of)
{
	struct synthetic *r = find(context);
	const uint64_t one = 1;
	void *p = r ? realloc(r->async, (r->nasync + 1ul) * sizeof(*r->async)) : NULL;
	if (!p)
		return -ENOMEM;
	r->async = p;
	r->async[r->nasync].type = type;
	r->async[r->nasync++].object = of->id;
	return write(r->event_fd, &one, sizeof(one)) == sizeof(one) ? 0 : -errno;
}

int synthetic_async(const struct object *context, const struct object **of)
{
	struct synthetic *r = find(context);
	uint64_t one;
	while (r && r->async_at < r->nasync && read(r->event_fd, &one, sizeof(one)) == sizeof(one)) {
		const int type = r->async[r->async_at].type;
		*of = object_find(r->async[r->async_at++].object, event_kind(type));
		if (*of)
			return type;
	}
	return -1;
}

void synthetic_forget(const struct object *qp)
{
	const uint32_t number = number_lower(NUMBER_QP, qp->made.qp.number);
	for (struct synthetic *r = all; r; r = r->next) {
		unsigned left = r->at;
		for (unsigned i = r->at; i < r->count; i++)
			if (r->wc[i].qp_num != number)
				r->wc[left++] = r->wc[i];
		r->count = left;
	}
}

void synthetic_gone(const struct object *cq)
{
	struct synthetic *r = find(cq), *channel = find(cq->parents[1]);
	uint64_t one;
	for (; r && r->events; r->events--)
		if (channel && read(channel->event_fd, &one, sizeof(one)) != sizeof(one))
			break;
	if (r)
		r->at = r->count = r->events = 0;
}
