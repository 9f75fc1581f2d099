/* Event channels: queueing, fetching and acknowledging events. */
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "cm.h"

pthread_mutex_t cm_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
pthread_cond_t cm_acked = PTHREAD_COND_INITIALIZER;

EXPORT struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct cm_channel *ch = calloc(1, sizeof(*ch));
	struct epoll_event e = {.events = EPOLLIN};
	if (!ch)
		return NULL;
	ch->channel.fd = epoll_create1(EPOLL_CLOEXEC);
	ch->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ch->channel.fd < 0 || ch->wake < 0 || epoll_ctl(ch->channel.fd, EPOLL_CTL_ADD, ch->wake, &e)) {
		int error = errno;
		close(ch->channel.fd);
		close(ch->wake);
		free(ch);
		errno = error;
		return NULL;
	}
	list_init(&ch->events);
	return &ch->channel;
}

EXPORT void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	struct cm_channel *ch = cm_channel_of(channel);
	close(ch->channel.fd);
	close(ch->wake);
	free(ch);
}

static void set_awake(struct cm_channel *ch)
{
	uint64_t one = 1;
	bool want = !list_empty(&ch->events);
	if (want == ch->awake)
		return;
	if ((want ? write(ch->wake, &one, sizeof(one)) : read(ch->wake, &one, sizeof(one))) == sizeof(one))
		ch->awake = want;
}

struct cm_event *cm_event_new(struct cm_id *c, enum rdma_cm_event_type type, int status)
{
	struct cm_event *e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->event.id = &c->id;
	e->event.event = type;
	e->event.status = status;
	list_init(&e->link);
	return e;
}

void cm_event_put(struct cm_channel *ch, struct cm_event *e)
{
	list_append(&ch->events, &e->link);
	set_awake(ch);
}

void cm_event_say(struct cm_id *c, enum rdma_cm_event_type type, int status)
{
	struct cm_event *e = cm_event_new(c, type, status);
	if (e)
		cm_event_put(c->channel, e);
}

/* Takes an event of this id, or a connection request to it, out of the queue. */
static struct cm_event *take_event(const struct cm_id *c)
{
	list_each(struct cm_event, e, &c->channel->events, link) {
		if (e->event.id != &c->id && e->event.listen_id != &c->id)
			continue;
		list_remove(&e->link);
		return e;
	}
	return NULL;
}

void cm_events_forget(struct cm_id *c)
{
	struct cm_event *e;
	while ((e = take_event(c))) {
		if (e->event.id != &c->id) { /* a connection request that the program never saw */
			cm_events_forget(cm_of(e->event.id));
			cm_id_free(cm_of(e->event.id));
		}
		free(e);
	}
	set_awake(c->channel);
}

void cm_events_move(struct cm_id *c, struct cm_channel *to)
{
	list_each(struct cm_event, e, &c->channel->events, link) {
		if (e->event.id != &c->id)
			continue;
		list_remove(&e->link);
		list_append(&to->events, &e->link);
	}
	set_awake(c->channel);
	set_awake(to);
}

static struct cm_event *next_event(struct cm_channel *ch)
{
	struct cm_event *e = NULL;
	pthread_mutex_lock(&cm_lock);
	cm_sockets_ready(ch);
	if (!list_empty(&ch->events)) {
		e = list_entry(ch->events.next, struct cm_event, link);
		list_remove(&e->link);
		cm_of(e->event.listen_id ? e->event.listen_id : e->event.id)->given++;
	}
	set_awake(ch);
	pthread_mutex_unlock(&cm_lock);
	return e;
}

EXPORT int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	struct pollfd p = {.fd = channel ? channel->fd : -1, .events = POLLIN};
	struct cm_event *e;
	int flags;
	if (!channel || !event)
		return cm_fail(EINVAL);
	while (!(e = next_event(cm_channel_of(channel)))) {
		flags = fcntl(channel->fd, F_GETFL);
		if (flags < 0)
			return -1;
		if (flags & O_NONBLOCK)
			return cm_fail(EAGAIN);
		if (poll(&p, 1, -1) < 0)
			return -1;
	}
	*event = &e->event;
	return 0;
}

EXPORT int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	if (!event)
		return cm_fail(EINVAL);
	pthread_mutex_lock(&cm_lock);
	cm_of(event->listen_id ? event->listen_id : event->id)->acknowledged++;
	pthread_cond_broadcast(&cm_acked);
	pthread_mutex_unlock(&cm_lock);
	free(list_entry(event, struct cm_event, event));
	return 0;
}

int cm_complete(struct cm_id *c)
{
	if (!c->sync)
		return 0;
	if (c->id.event) {
		rdma_ack_cm_event(c->id.event);
		c->id.event = NULL;
	}
	if (rdma_get_cm_event(c->id.channel, &c->id.event))
		return -1;
	int status = c->id.event->status;
	if (c->id.event->event == RDMA_CM_EVENT_REJECTED)
		return cm_fail(ECONNREFUSED);
	return status ? cm_fail(status < 0 ? -status : status) : 0;
}

EXPORT const char *rdma_event_str(enum rdma_cm_event_type event)
{
	static const char *const names[] = {
		"RDMA_CM_EVENT_ADDR_RESOLVED",  "RDMA_CM_EVENT_ADDR_ERROR",      "RDMA_CM_EVENT_ROUTE_RESOLVED",
		"RDMA_CM_EVENT_ROUTE_ERROR",    "RDMA_CM_EVENT_CONNECT_REQUEST", "RDMA_CM_EVENT_CONNECT_RESPONSE",
		"RDMA_CM_EVENT_CONNECT_ERROR",  "RDMA_CM_EVENT_UNREACHABLE",     "RDMA_CM_EVENT_REJECTED",
		"RDMA_CM_EVENT_ESTABLISHED",    "RDMA_CM_EVENT_DISCONNECTED",    "RDMA_CM_EVENT_DEVICE_REMOVAL",
		"RDMA_CM_EVENT_MULTICAST_JOIN", "RDMA_CM_EVENT_MULTICAST_ERROR", "RDMA_CM_EVENT_ADDR_CHANGE",
		"RDMA_CM_EVENT_TIMEWAIT_EXIT",
	};
	return (unsigned)event < sizeof(names) / sizeof(*names) ? names[event] : "UNKNOWN EVENT";
}
