/* Generalized requests, whose functions are C or Fortran functions of the program. */
#include "stub.h"

static int start(void *query, void *release, void *cancel, void *extra, MPI_Request *request)
{
	int err = (int)rdb_call(
		RDB_Grequest_start, 5,
		(uint64_t[]){(uint64_t)query, (uint64_t)release, (uint64_t)cancel, (uint64_t)extra, (uint64_t)request});

	return err ? rdb_error(MPI_COMM_WORLD, err, "MPI_Grequest_start") : MPI_SUCCESS;
}

#ifdef RDB_CORE
RDB_MPI(int, Grequest_start, MPI_Grequest_query_function *query, MPI_Grequest_free_function *release,
	MPI_Grequest_cancel_function *cancel, void *extra, MPI_Request *request)
{
	return start(query, release, cancel, extra, request);
}
#else
#include "fortran.h"

/* Open MPI's Fortran library marks a request as a Fortran one after it was made. */
struct generalized {
	MPI_Grequest_query_function *query;
	MPI_Grequest_free_function *release;
	MPI_Grequest_cancel_function *cancel;
	void *extra;
	int in_c, looked;
	struct rdb_body *body;
};

/* Reads the mark only once: later the id may belong to another request. */
static int in_c(struct generalized *g)
{
	if (!g->looked)
		g->in_c = g->body->bytes[GREQUEST_IS_C];
	g->looked = 1;
	return g->in_c;
}

static int on_query(void *state, MPI_Status *status)
{
	struct generalized *g = state;
	MPI_Fint err = MPI_SUCCESS;

	if (in_c(g))
		return g->query(g->extra, status);
	((void (*)(void *, void *, MPI_Fint *))(void *)g->query)(g->extra, status, &err);
	return err;
}

static int on_cancel(void *state, int complete)
{
	struct generalized *g = state;
	MPI_Fint err = MPI_SUCCESS;

	if (!g->cancel)
		return MPI_SUCCESS;
	if (in_c(g))
		return g->cancel(g->extra, complete);
	((void (*)(void *, MPI_Fint *, MPI_Fint *))(void *)g->cancel)(g->extra, &complete, &err);
	return err;
}

static int on_release(void *state)
{
	struct generalized *g = state;
	MPI_Fint err = MPI_SUCCESS;

	if (g->release && in_c(g))
		err = g->release(g->extra);
	else if (g->release)
		((void (*)(void *, MPI_Fint *))(void *)g->release)(g->extra, &err);
	g->body->bytes[GREQUEST_LIVES] = 0;
	rdb_free(g, sizeof(*g));
	return err;
}

int rdb_generalized(uint32_t request)
{
	const struct rdb_body *body = rdb_body_known(RDB_REQUEST, request);

	return body && body->bytes[GREQUEST_LIVES];
}

RDB_MPI(int, Grequest_start, MPI_Grequest_query_function *query, MPI_Grequest_free_function *release,
	MPI_Grequest_cancel_function *cancel, void *extra, MPI_Request *request)
{
	struct generalized *g = rdb_alloc(sizeof(*g));
	int err;

	if (!g)
		return rdb_error(MPI_COMM_WORLD, MPI_ERR_NO_MEM, "MPI_Grequest_start");
	*g = (struct generalized){.query = query, .release = release, .cancel = cancel, .extra = extra, .in_c = 1};
	err = start(on_query, on_release, on_cancel, g, request);
	if (err) {
		rdb_free(g, sizeof(*g));
		return err;
	}
	g->body = rdb_body(RDB_REQUEST, rdb_id(RDB_REQUEST, *request));
	g->body->bytes[GREQUEST_IS_C] = 1;
	g->body->bytes[GREQUEST_LIVES] = 1;
	*request = &g->body->handle;
	return MPI_SUCCESS;
}
#endif
