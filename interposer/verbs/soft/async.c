/* Asynchronous events of a context. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include "device.h"

struct async_event {
	struct list link;
	enum ibv_event_type type;
	void *object;
	int port;
};

void hca_flag_set(int fd, bool *set, bool to)
{
	uint64_t one = 1;
	if (*set == to)
		return;
	*set = to;
	/* The counter is 0 or 1, so neither call blocks. */
	if ((to ? write(fd, &one, sizeof(one)) : read(fd, &one, sizeof(one))) != sizeof(one))
		hca_warn("software HCA: a notification was lost: errno %d", errno);
}

static int raise_event(struct hca_context *c, enum ibv_event_type type, void *object, int port)
{
	struct async_event *e = malloc(sizeof(*e));
	if (!e) {
		hca_warn("software HCA: out of memory, event %d is lost", type);
		return -ENOMEM;
	}
	*e = (struct async_event){.type = type, .object = object, .port = port};
	list_append(&c->events, &e->link);
	hca_flag_set(c->async_fd, &c->signalled, true);
	return 0;
}

void hca_async_raise(struct hca_context *c, enum ibv_event_type type, void *object, int port)
{
	if (!raise_event(c, type, object, port) && object && hca.above->happened)
		hca.above->happened((int)type, object);
}

int hca_restore_event(void *context, int type, void *object)
{
	return raise_event(context, (enum ibv_event_type)type, object, 0);
}

int hca_async_event(void *context, int *type, void **object, int *port)
{
	struct hca_context *c = context;
	if (list_empty(&c->events))
		return -EAGAIN;
	struct async_event *e = list_entry(c->events.next, struct async_event, link);
	*type = (int)e->type;
	*object = e->object;
	*port = e->port;
	list_remove(&e->link);
	free(e);
	hca_flag_set(c->async_fd, &c->signalled, !list_empty(&c->events));
	return 0;
}

void hca_async_forget(struct hca_context *c, const void *object)
{
	list_each(struct async_event, e, &c->events, link) {
		if (object && e->object != object)
			continue;
		list_remove(&e->link);
		free(e);
	}
	hca_flag_set(c->async_fd, &c->signalled, !list_empty(&c->events));
}
