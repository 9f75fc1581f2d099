/* Waiting for events, and acknowledging them. */
#include <fcntl.h>
#include <poll.h>
#include "../subject.h"
#include "upper.h"

int wait_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0)
		return -1;
	if (flags & O_NONBLOCK) {
		errno = EAGAIN;
		return -1;
	}
	return poll(&p, 1, -1) < 0 ? -1 : 0;
}

void await_acknowledged(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *done, const uint32_t *given)
{
	pthread_mutex_lock(mutex);
	while (*done != *given)
		pthread_cond_wait(cond, mutex);
	pthread_mutex_unlock(mutex);
}

void acknowledge(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *done, uint32_t n)
{
	pthread_mutex_lock(mutex);
	*done += n;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}

/* The counters of an event's object: events given to the program, and events acknowledged. */
struct tally {
	pthread_mutex_t *mutex;
	pthread_cond_t *cond;
	uint32_t *given, *done;
};

static bool tally_of(const struct ibv_async_event *event, struct tally *t)
{
	switch (verbs_subject(event->event_type)) {
	case SUBJECT_CQ: {
		struct completion_queue *q = queue_of(event->element.cq);
		*t = (struct tally){&q->cq.mutex, &q->cq.cond, &q->async_events, &q->cq.async_events_completed};
		return true;
	}
	case SUBJECT_QP: {
		struct queue_pair *q = CONTAINER(event->element.qp, struct queue_pair, qp);
		*t = (struct tally){&q->qp.mutex, &q->qp.cond, &q->async_events, &q->qp.events_completed};
		return true;
	}
	case SUBJECT_SRQ: {
		struct shared_queue *q = CONTAINER(event->element.srq, struct shared_queue, srq);
		*t = (struct tally){&q->srq.mutex, &q->srq.cond, &q->async_events, &q->srq.events_completed};
		return true;
	}
	case SUBJECT_WQ:
	case SUBJECT_PORT: break;
	}
	return false;
}

EXPORT int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct verbs_event found;
	int64_t r;
	while ((r = ASK(VERBS_ASYNC_EVENT, context_of(context)->id, P(&found))) == -EAGAIN)
		if (wait_readable(context->async_fd))
			return -1;
	if (failed(r))
		return -1;
	struct tally t;
	event->event_type = found.type;
	event->element.cq = NULL;
	event->element.cq = (void *)found.object;
	if (tally_of(event, &t)) {
		pthread_mutex_lock(t.mutex);
		++*t.given;
		pthread_mutex_unlock(t.mutex);
	} else {
		event->element.cq = NULL;
		event->element.port_num = (int)found.object;
	}
	return 0;
}

EXPORT void ibv_ack_async_event(struct ibv_async_event *event)
{
	struct tally t;
	if (tally_of(event, &t))
		acknowledge(t.mutex, t.cond, t.done, 1);
}
