/* Generalized requests: their functions are the program's, called in the upper half. */
#include "real.h"

struct generalized {
	void *query, *free, *cancel; /* upper functions */
	uint64_t extra;
};

static int called(const struct generalized *g, void *fn, uint64_t argument)
{
	bool held = host->hold(true);
	const uint64_t args[] = {g->extra, argument};
	int rc = (int)host->upcall(fn, args, 2, NULL, 0);

	host->hold(held);
	return rc;
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
	status->MPI_ERROR = error; /* not the function's to set: MPI 3.1, 12.2 */
	host->hold(held);
	return rc;
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
	return rc;
}

static int cancelled(void *state, int complete)
{
	const struct generalized *g = state;

	return g->cancel ? called(g, g->cancel, (uint64_t)(int64_t)complete) : MPI_SUCCESS;
}

/* query_fn, free_fn, cancel_fn, extra_state, request */
int64_t real_Grequest_start(const uint64_t *a)
{
	struct generalized *g = malloc(sizeof(*g));
	struct vreq *request;
	MPI_Request real;
	int rc;

	if (!g)
		host->fatal("out of memory in the MPI boundary");
	*g = (struct generalized){(void *)a[0], (void *)a[1], (void *)a[2], a[3]};
	rc = a[4] ? PMPI_Grequest_start(query, released, cancelled, g, &real) : MPI_ERR_ARG;
	if (rc != MPI_SUCCESS) {
		free(g);
		return rc;
	}
	request = request_new(real);
	request->active = true;
	put_handle((void *)a[4], RDB_REQUEST, request->o.id);
	return rc;
}

/* request */
int64_t real_Grequest_complete(const uint64_t *a)
{
	struct vreq *request = request_of(a[0]);

	return PMPI_Grequest_complete(request->o.real);
}
