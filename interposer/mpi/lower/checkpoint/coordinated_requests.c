/* Requests: pending receives are posted again in their order; complete requests are complete from the beginning. */
#include "lower/checkpoint/coordinated_state.h"

enum { PENDING, COMPLETE, TRUNCATED };

static int by_order(const void *a, const void *b)
{
	const struct vreq *x = *(struct vreq *const *)a, *y = *(struct vreq *const *)b;

	return x->order < y->order ? -1 : x->order > y->order;
}

static void put_request(struct bytes *out, struct vreq *one)
{
	MPI_Status status = status_empty;
	MPI_Count bytes = 0;
	bool complete = request_ended(one, &status);
	int cancelled = 0;

	if (complete) {
		PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
		PMPI_Test_cancelled(&status, &cancelled);
	}
	const int64_t numbers[] = {one->o.id,
				   one->receive,
				   one->persistent,
				   one->active,
				   complete ? is_truncation(status.MPI_ERROR) ? TRUNCATED : COMPLETE : PENDING,
				   rank_out(status.MPI_SOURCE),
				   tag_out(status.MPI_TAG),
				   bytes < 0 ? 0 : bytes,
				   cancelled,
				   one->mode,
				   one->count,
				   one->asked_peer,
				   one->asked_tag,
				   (int64_t)one->buf,
				   one->comm ? one->comm->o.id : 0,
				   one->type ? one->type->o.id : 0};

	put_bytes(out, numbers, sizeof(numbers));
	/* the datatype may have been freed since */
	if (one->type)
		put_type(out, REAL(MPI_Datatype, one->type->o.real));
}

void put_requests(struct bytes *out)
{
	struct vreq *one, **all = needed(calloc(tables[RDB_REQUEST].next + 1, sizeof(*all)));
	int64_t n = 0;

	EACH(RDB_REQUEST, one)
	{
		if (!one->blocking && !one->generalized)
			all[n++] = one;
	}
	qsort(all, (size_t)n, sizeof(*all), by_order);
	put_number(out, n);
	for (int64_t i = 0; i < n; i++)
		put_request(out, all[i]);
	free(all);
}

static int init_send(char mode, const struct vreq *r, MPI_Datatype type, int peer, int tag, MPI_Request *real)
{
	MPI_Comm comm = REAL(MPI_Comm, r->comm->o.real);

	switch (mode) {
	case 's': return PMPI_Ssend_init(r->buf, r->count, type, peer, tag, comm, real);
	case 'r': return PMPI_Rsend_init(r->buf, r->count, type, peer, tag, comm, real);
	case 'b': return PMPI_Bsend_init(r->buf, r->count, type, peer, tag, comm, real);
	default: return PMPI_Send_init(r->buf, r->count, type, peer, tag, comm, real);
	}
}

void get_request(struct bytes *in)
{
	int64_t v[16] = {0};
	const void *at = get_bytes(in, sizeof(v));
	struct vtype *type = NULL;
	MPI_Request real = MPI_REQUEST_NULL, done = MPI_REQUEST_NULL;
	bool own = false;
	int rc = MPI_SUCCESS;

	if (!at)
		return;
	memcpy(v, at, sizeof(v));
	if (v[15]) {
		MPI_Datatype given = get_type(in, &own);
		struct vtype *there = type_of((uint64_t)v[15]);

		if (in->bad)
			return;
		if (there->o.id == (uint32_t)v[15]) {
			type = there;
			if (own)
				PMPI_Type_free(&given);
		} else {
			type = type_new(given);
		}
	}
	const uint32_t id = (uint32_t)v[0];
	const bool receive = v[1], persistent = v[2], active = v[3], complete = v[4];
	struct vcomm *comm = v[14] ? comm_of((uint64_t)v[14]) : NULL;
	const int peer = rank_in((int)v[11]), tag = tag_in((int)v[12]);
	struct vreq *r;

	if (receive && (persistent || !complete)) {
		rc = request_again(id, (void *)v[13], (int)v[10], type, peer, tag, comm, persistent);
		r = request_of(id);
	} else {
		r = (struct vreq *)object_at(RDB_REQUEST, id, NULL);
		r->receive = receive;
		r->buf = (void *)v[13];
		r->count = (int)v[10];
		r->room = receive && type && r->count > 0 ? r->count * type->size : 0;
		r->type = type ? object_hold(type) : NULL;
		r->comm = comm ? object_hold(comm) : NULL;
		r->persistent = persistent;
		r->peer = peer;
		r->tag = tag;
		if (persistent) {
			rc = init_send((char)v[9], r, REAL(MPI_Datatype, type->o.real), peer, tag, &real);
			r->o.real = BITS(real);
		}
	}
	r->mode = (char)v[9];
	r->asked_peer = (int)v[11];
	r->asked_tag = (int)v[12];
	if (active && complete && rc == MPI_SUCCESS) {
		rc = request_done(rank_in((int)v[5]), tag_in((int)v[6]), v[7], v[8],
				  v[4] == TRUNCATED ? MPI_ERR_TRUNCATE : MPI_SUCCESS, &done);
		r->kept = persistent ? r->o.real : NULL;
		r->o.real = BITS(done);
		r->delivered = true;
	} else if (active && persistent && rc == MPI_SUCCESS) {
		real = REAL(MPI_Request, r->o.real);
		rc = PMPI_Start(&real);
		r->o.real = BITS(real);
	}
	r->active = active;
	if (type && type->o.id != (uint32_t)v[15])
		object_drop(&type->o); /* the program had freed its handle */
	in->bad |= rc != MPI_SUCCESS;
}
