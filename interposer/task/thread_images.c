/* The threads in an image. */
#include "task/thread_images.h"
#include <errno.h>
#include "arch/context.h"
#include "task/thread.h"

int threads_take(struct table *table, const ucontext_t *uc)
{
	static struct image_thread one;
	int rc = 0;
	for (const struct thread *t = threads_first(); t && !rc; t = t->next) {
		ucontext_t parked;
		one = (struct image_thread){.upper = t->upper,
					    .state = t->state,
					    .processor_ms = (uint32_t)((thread_processor_ns(t) + 999999) / 1000000)};
		if (t == thread_self()) {
			one.state = THREAD_RUNS;
			context_save(&one.context, uc);
		} else if (!t->frame && !t->uc) { /* not started: has the vector registers of its maker */
			one.context = t->start;
		} else {
			thread_context(t, &parked);
			context_save(&one.context, &parked);
		}
		rc = table_add(table, &one, sizeof(one));
	}
	return rc;
}

/* The thread that runs becomes the caller; the others go on when the log comes to them. */
int threads_put(const struct image_thread *t, unsigned count, struct context *running)
{
	struct thread *self = thread_self();
	for (unsigned i = 0; i < count; i++, t++) {
		if (t->state == THREAD_RUNS) {
			self->upper = t->upper;
			self->processor_told = t->processor_ms * 1000000l;
			*running = t->context;
			continue;
		}
		struct thread *other = threads_add(&t->upper);
		if (!other)
			return -ENOMEM;
		other->processor_told = t->processor_ms * 1000000l;
		other->state = (enum thread_state)t->state;
		other->start = t->context;
		other->start_tls = t->upper.tls;
		other->gate.lower_tls = self->gate.lower_tls;
		turns_prepare(other, NULL);
	}
	return 0;
}
