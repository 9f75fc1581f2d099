/* Completion channels: descriptors that are readable while a queue has an event. */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "cq.h"
#include "progress.h"

int hca_create_channel(void *context, void **out, int *fd)
{
	struct hca_channel *ch = calloc(1, sizeof(*ch));
	if (!ch)
		return -ENOMEM;
	ch->fd = hca_keep(eventfd(0, EFD_CLOEXEC));
	if (ch->fd < 0) {
		int rc = ch->fd;
		free(ch);
		return rc;
	}
	ch->context = context;
	ch->context->users++;
	list_init(&ch->ready);
	*out = ch;
	*fd = ch->fd;
	return 0;
}

int hca_destroy_channel(void *handle)
{
	struct hca_channel *ch = handle;
	if (ch->users)
		return -EBUSY;
	ch->context->users--;
	close(ch->fd);
	free(ch);
	return 0;
}

int hca_cq_event(void *handle, void **out)
{
	struct hca_channel *ch = handle;
	if (list_empty(&ch->ready))
		hca_progress();
	if (list_empty(&ch->ready))
		return -EAGAIN;
	struct hca_cq *cq = list_entry(ch->ready.next, struct hca_cq, link);
	list_remove(&cq->link);
	if (--cq->events)
		list_append(&ch->ready, &cq->link);
	hca_flag_set(ch->fd, &ch->signalled, !list_empty(&ch->ready));
	*out = cq;
	return 0;
}
