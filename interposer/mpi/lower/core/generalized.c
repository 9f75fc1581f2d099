/* Generalized requests.  Their functions are the program's and are called in the upper half. */
#include "lower/core/kept.h"
#include "lower/core/requests.h"

struct generalized {
	void *query, *free, *cancel; /* upper functions */
	uint64_t extra;
	bool complete; /* MPI_Grequest_complete was called */
};

static int called(const struct generalized *g, void *fn, uint64_t argument)
{
	bool held = host->hold(true);
	const uint64_t args[] = {g->extra, argument};
	int rc = (int)host->upcall(fn, args, 2, NULL, 0);

	host->hold(held);
	return error_in(rc);
}

static int query(void *state, MPI_Status *status)
{
	const struct generalized *g = state;
	bool held = host->hold(true);
	struct upper_status *upper = host->scratch(0, sizeof(*upper));
	struct upper_status empty = {0};
	const struct rdb_span span = {upper, sizeof(*upper), &empty};
	const uint64_t args[] = {g->extra, (uint64_t)upper};
	int error = status->MPI_ERROR, rc;

	status_store(&empty, &status_empty, true);
	rc = (int)host->upcall(g->query, args, 2, &span, 1);
	status_in(status, upper);
	status->MPI_ERROR = error; /* the function must not set it: MPI-3.1, 12.2 */
	host->hold(held);
	return error_in(rc);
}

static int released(void *state)
{
	struct generalized *g = state;
	void *fn = g->free;
	struct generalized copy = *g;

	free(g);
	if (!fn)
		return MPI_SUCCESS;

	bool held = host->hold(true);
	int rc = (int)host->upcall(fn, &copy.extra, 1, NULL, 0);

	host->hold(held);
	return error_in(rc);
}

static int cancelled(void *state, int complete)
{
	const struct generalized *g = state;

	return g->cancel ? called(g, g->cancel, (uint64_t)(int64_t)complete) : MPI_SUCCESS;
}

/* Starts one under this id; 0: a new id. */
static int start(const struct generalized *like, uint32_t id, struct vreq **request)
{
	struct generalized *g = needed(malloc(sizeof(*g)));
	MPI_Request real;
	int rc;

	*g = *like;
	rc = PMPI_Grequest_start(query, released, cancelled, g, &real);
	if (rc != MPI_SUCCESS) {
		free(g);
		return rc;
	}
	*request = id ? (struct vreq *)object_at(RDB_REQUEST, id, BITS(real)) : request_new(real);
	(*request)->active = true;
	(*request)->generalized = g;
	return rc;
}

/* query_fn, free_fn, cancel_fn, extra_state, request */
int64_t real_Grequest_start(const uint64_t *a)
{
	const struct generalized g = {(void *)a[0], (void *)a[1], (void *)a[2], a[3], false};
	struct vreq *request;
	int rc = a[4] ? start(&g, 0, &request) : MPI_ERR_ARG;

	if (rc == MPI_SUCCESS)
		put_handle((void *)a[4], RDB_REQUEST, request->o.id);
	return rc;
}

/* request */
int64_t real_Grequest_complete(const uint64_t *a)
{
	struct vreq *request = request_of(a[0]);

	if (request->generalized)
		request->generalized->complete = true;
	return PMPI_Grequest_complete(REAL(MPI_Request, request->o.real));
}

int generalized_again(uint32_t id, const uint64_t *args, bool complete)
{
	const struct generalized g = {(void *)args[0], (void *)args[1], (void *)args[2], args[3], complete};
	struct vreq *request;
	int rc = start(&g, id, &request);

	return rc == MPI_SUCCESS && complete ? PMPI_Grequest_complete(REAL(MPI_Request, request->o.real)) : rc;
}

/* ---- in a checkpoint; the program's functions are not called ---- */

void put_generalized(struct bytes *out)
{
	struct vreq *request;

	EACH(RDB_REQUEST, request)
	{
		if (!request->generalized)
			continue;
		put_number(out, request->o.id);
		put_bytes(out, request->generalized, sizeof(*request->generalized));
	}
	put_number(out, 0);
}

void get_generalized(struct bytes *in)
{
	uint32_t id;

	while (!in->bad && (id = (uint32_t)get_number(in))) {
		struct generalized g;
		const void *at = get_bytes(in, sizeof(g));

		if (!at)
			return;
		memcpy(&g, at, sizeof(g));
		const uint64_t args[] = {(uint64_t)g.query, (uint64_t)g.free, (uint64_t)g.cancel, g.extra};

		in->bad = generalized_again(id, args, g.complete) != MPI_SUCCESS;
	}
}
