/* Threads in the middle of an MPI_Sendrecv that have sent and still wait to receive.  A restarted thread makes the call
 * again, and must not send again. */
#include "lower/core/kept.h"

static uint32_t *threads;
static size_t nthreads, room;

static size_t index_of(uint32_t thread)
{
	size_t i = 0;

	while (i < nthreads && threads[i] != thread)
		i++;
	return i;
}

static void add(uint32_t thread)
{
	if (nthreads == room) {
		room = room ? 2 * room : 16;
		threads = needed(realloc(threads, room * sizeof(*threads)));
	}
	threads[nthreads++] = thread;
}

bool exchange_sent(void)
{
	return nthreads && index_of(host->thread()) < nthreads;
}

void exchange_sends(bool sent)
{
	if (!nthreads && !sent)
		return;

	const uint32_t thread = host->thread();
	const size_t at = index_of(thread);

	if (sent && at == nthreads)
		add(thread);
	else if (!sent && at < nthreads)
		threads[at] = threads[--nthreads];
}

void put_exchanges(struct bytes *out)
{
	put_number(out, (int64_t)nthreads);
	for (size_t i = 0; i < nthreads; i++)
		put_number(out, threads[i]);
}

void get_exchanges(struct bytes *in)
{
	for (int64_t n = get_number(in); n > 0 && !in->bad; n--)
		add((uint32_t)get_number(in));
}
