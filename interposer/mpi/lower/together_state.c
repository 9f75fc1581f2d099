/* What the program has in MPI, written down beside an image and made again below one: not the calls that made it, but
 * what it is now, as the real MPI tells it.  So nothing is kept while the program runs, and what it has freed is
 * nowhere.  Numbers are the program's (ids, ranks in MPI_COMM_WORLD, combiners counted here), since the MPI
 * of the restart may be another one. */
#include <stdio.h>
#include "requests.h"
#include "together.h"

struct bytes {
	char *base;
	size_t len, room;
	const char *at, *end; /* reading */
	bool bad;
};

static void put_bytes(struct bytes *out, const void *data, size_t len)
{
	if (out->len + len > out->room) {
		out->room = (out->len + len) * 2 + 4096;
		out->base = realloc(out->base, out->room);
		if (!out->base)
			host->fatal("out of memory for a checkpoint");
	}
	if (len)
		memcpy(out->base + out->len, data, len);
	out->len += len;
}

static void put_number(struct bytes *out, int64_t value)
{
	put_bytes(out, &value, sizeof(value));
}

static const void *get_bytes(struct bytes *in, size_t len)
{
	const char *at = in->at;

	if (in->bad || (size_t)(in->end - in->at) < len) {
		in->bad = true;
		return NULL;
	}
	in->at += len;
	return at;
}

static int64_t get_number(struct bytes *in)
{
	int64_t value = 0;
	const void *at = get_bytes(in, sizeof(value));

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

static void put_text(struct bytes *out, const char *text)
{
	put_number(out, (int64_t)strlen(text));
	put_bytes(out, text, strlen(text));
}

static void get_text(struct bytes *in, char *text, size_t room)
{
	size_t len = (size_t)get_number(in);
	const void *at = len < room ? get_bytes(in, len) : NULL;

	in->bad |= !at;
	if (at)
		memcpy(text, at, len);
	text[at ? len : 0] = 0;
}

static void *room_for(struct bytes *in, int64_t count, size_t size)
{
	void *p;

	if (count < 0 || count > INT32_MAX)
		in->bad = true;
	p = calloc(in->bad ? 1 : (size_t)count + 1, size);
	if (!p)
		host->fatal("out of memory in a restart");
	return p;
}

static int *get_ints(struct bytes *in, int64_t *count)
{
	*count = get_number(in);
	int *p = room_for(in, *count, sizeof(int));
	const void *at = in->bad ? NULL : get_bytes(in, (size_t)*count * sizeof(int));

	if (at)
		memcpy(p, at, (size_t)*count * sizeof(int));
	return p;
}

static void put_ints(struct bytes *out, const int *values, int64_t count)
{
	put_number(out, count);
	put_bytes(out, values, (size_t)count * sizeof(int));
}

#define EACH(class, object) \
	for (uint32_t id_ = RDB_FIRST_DYNAMIC; id_ < tables[class].next; id_++) \
		if ((object = (void *)object_of(class, id_))->o.id == id_)
#define EACH_PLAIN(class, object) \
	for (uint32_t id_ = RDB_FIRST_DYNAMIC; id_ < tables[class].next; id_++) \
		if ((object = object_of(class, id_))->id == id_)

/* ---- datatypes ---- */

static const int combiners[] = {
	0,
	MPI_COMBINER_DUP,
	MPI_COMBINER_CONTIGUOUS,
	MPI_COMBINER_VECTOR,
	MPI_COMBINER_HVECTOR,
	MPI_COMBINER_INDEXED,
	MPI_COMBINER_HINDEXED,
	MPI_COMBINER_INDEXED_BLOCK,
	MPI_COMBINER_HINDEXED_BLOCK,
	MPI_COMBINER_STRUCT,
	MPI_COMBINER_SUBARRAY,
	MPI_COMBINER_DARRAY,
	MPI_COMBINER_RESIZED,
};

enum { COMBINERS = sizeof(combiners) / sizeof(*combiners), PREDEFINED = -1, UNKNOWN = -2 };

static void put_type(struct bytes *out, MPI_Datatype type)
{
	int ni = 0, na = 0, nt = 0, combiner = 0, code = 1;

	for (uint32_t id = RDB_NULL_ID; id < RDB_FIRST_DYNAMIC; id++) {
		const struct vobject *one = object_of(RDB_TYPE, id);

		if (one->id == id && one->real == BITS(type)) {
			put_number(out, PREDEFINED);
			put_number(out, id);
			return;
		}
	}
	PMPI_Type_get_envelope(type, &ni, &na, &nt, &combiner);
	while (code < COMBINERS && combiners[code] != combiner)
		code++;
	if (code == COMBINERS) {
		put_number(out, UNKNOWN);
		return;
	}
	int *i = calloc((size_t)ni + 1, sizeof(*i));
	MPI_Aint *a = calloc((size_t)na + 1, sizeof(*a));
	MPI_Datatype *t = calloc((size_t)nt + 1, sizeof(*t));

	if (!i || !a || !t)
		host->fatal("out of memory for a checkpoint");
	PMPI_Type_get_contents(type, ni, na, nt, i, a, t);
	put_number(out, code);
	/* the order of dimensions, and how an array is dealt out, are constants of the MPI */
	if (combiner == MPI_COMBINER_SUBARRAY)
		i[ni - 1] = i[ni - 1] == MPI_ORDER_C;
	put_ints(out, i, ni);
	put_number(out, na);
	for (int k = 0; k < na; k++)
		put_number(out, a[k]);
	put_number(out, nt);
	for (int k = 0; k < nt; k++) {
		int x, y, z, named = MPI_COMBINER_NAMED;

		put_type(out, t[k]);
		PMPI_Type_get_envelope(t[k], &x, &y, &z, &named);
		if (named != MPI_COMBINER_NAMED)
			PMPI_Type_free(&t[k]);
	}
	free(i);
	free(a);
	free(t);
}

static MPI_Datatype make_type(struct bytes *in, int combiner, const int *i, const MPI_Aint *a, const MPI_Datatype *t)
{
	MPI_Datatype made = MPI_DATATYPE_NULL;
	const int n = i[0];
	int rc = MPI_ERR_TYPE;

	switch (combiner) {
	case MPI_COMBINER_DUP: rc = PMPI_Type_dup(t[0], &made); break;
	case MPI_COMBINER_CONTIGUOUS: rc = PMPI_Type_contiguous(n, t[0], &made); break;
	case MPI_COMBINER_VECTOR: rc = PMPI_Type_vector(n, i[1], i[2], t[0], &made); break;
	case MPI_COMBINER_HVECTOR: rc = PMPI_Type_create_hvector(n, i[1], a[0], t[0], &made); break;
	case MPI_COMBINER_INDEXED: rc = PMPI_Type_indexed(n, i + 1, i + 1 + n, t[0], &made); break;
	case MPI_COMBINER_HINDEXED: rc = PMPI_Type_create_hindexed(n, i + 1, a, t[0], &made); break;
	case MPI_COMBINER_INDEXED_BLOCK: rc = PMPI_Type_create_indexed_block(n, i[1], i + 2, t[0], &made); break;
	case MPI_COMBINER_HINDEXED_BLOCK: rc = PMPI_Type_create_hindexed_block(n, i[1], a, t[0], &made); break;
	case MPI_COMBINER_STRUCT: rc = PMPI_Type_create_struct(n, i + 1, a, t, &made); break;
	case MPI_COMBINER_SUBARRAY:
		rc = PMPI_Type_create_subarray(n, i + 1, i + 1 + n, i + 1 + 2 * n,
					       i[1 + 3 * n] ? MPI_ORDER_C : MPI_ORDER_FORTRAN, t[0], &made);
		break;
	case MPI_COMBINER_DARRAY:
		rc = PMPI_Type_create_darray(n, i[1], i[2], i + 3, i + 3 + i[2], i + 3 + 2 * i[2], i + 3 + 3 * i[2],
					     i[3 + 4 * i[2]], t[0], &made);
		break;
	case MPI_COMBINER_RESIZED: rc = PMPI_Type_create_resized(t[0], a[0], a[1], &made); break;
	}
	in->bad |= rc != MPI_SUCCESS;
	return made;
}

static MPI_Datatype get_type(struct bytes *in, bool *own)
{
	int64_t code = get_number(in), ni, na, nt;
	MPI_Datatype made;

	*own = false;
	if (code == PREDEFINED)
		return REAL(MPI_Datatype, object_of(RDB_TYPE, (uint64_t)get_number(in))->real);
	if (in->bad || code <= 0 || code >= COMBINERS) {
		in->bad = true;
		return MPI_DATATYPE_NULL;
	}
	int *i = get_ints(in, &ni);

	na = get_number(in);
	MPI_Aint *a = room_for(in, na, sizeof(*a));

	for (int64_t k = 0; k < na && !in->bad; k++)
		a[k] = (MPI_Aint)get_number(in);
	nt = get_number(in);
	MPI_Datatype *t = room_for(in, nt, sizeof(*t));
	bool *owned = room_for(in, nt, sizeof(*owned));

	for (int64_t k = 0; k < nt && !in->bad; k++)
		t[k] = get_type(in, &owned[k]);
	made = in->bad ? MPI_DATATYPE_NULL : make_type(in, combiners[code], i, a, t);
	for (int64_t k = 0; k < nt && !in->bad; k++) {
		if (owned[k])
			PMPI_Type_free(&t[k]);
	}
	if (!in->bad)
		PMPI_Type_commit(&made);
	*own = true;
	free(i);
	free(a);
	free(t);
	free(owned);
	return made;
}

/* ---- communicators and groups ---- */

static void put_group(struct bytes *out, MPI_Group group)
{
	MPI_Group world;
	int n, *ranks, *there;

	PMPI_Group_size(group, &n);
	ranks = calloc((size_t)n + 1, sizeof(int));
	there = calloc((size_t)n + 1, sizeof(int));
	if (!ranks || !there)
		host->fatal("out of memory for a checkpoint");
	for (int i = 0; i < n; i++)
		ranks[i] = i;
	PMPI_Comm_group(MPI_COMM_WORLD, &world);
	PMPI_Group_translate_ranks(group, n, ranks, world, there);
	PMPI_Group_free(&world);
	put_ints(out, there, n);
	free(ranks);
	free(there);
}

static MPI_Group get_group(struct bytes *in)
{
	MPI_Group world, group = MPI_GROUP_NULL;
	int64_t n;
	int *ranks = get_ints(in, &n);

	PMPI_Comm_group(MPI_COMM_WORLD, &world);
	if (!in->bad)
		in->bad = PMPI_Group_incl(world, (int)n, ranks, &group) != MPI_SUCCESS;
	PMPI_Group_free(&world);
	free(ranks);
	return group;
}

enum { PLAIN, CART, GRAPH, DIST_GRAPH };

static void put_topology(struct bytes *out, MPI_Comm comm)
{
	int kind = MPI_UNDEFINED, n = 0, m = 0, weighted = 0;

	PMPI_Topo_test(comm, &kind);
	put_number(out, kind == MPI_CART         ? CART
			: kind == MPI_GRAPH      ? GRAPH
			: kind == MPI_DIST_GRAPH ? DIST_GRAPH
						 : PLAIN);
	if (kind == MPI_CART)
		PMPI_Cartdim_get(comm, &n);
	else if (kind == MPI_GRAPH)
		PMPI_Graphdims_get(comm, &n, &m);
	else if (kind == MPI_DIST_GRAPH)
		PMPI_Dist_graph_neighbors_count(comm, &n, &m, &weighted);
	int *a = calloc((size_t)n + 1, sizeof(int)), *b = calloc((size_t)(n + m) + 1, sizeof(int));
	int *c = calloc((size_t)(n + m) + 1, sizeof(int)), *d = calloc((size_t)m + 1, sizeof(int));

	if (!a || !b || !c || !d)
		host->fatal("out of memory for a checkpoint");
	if (kind == MPI_CART) {
		PMPI_Cart_get(comm, n, a, b, c);
		put_ints(out, a, n);
		put_ints(out, b, n);
	} else if (kind == MPI_GRAPH) {
		PMPI_Graph_get(comm, n, m, a, b);
		put_ints(out, a, n);
		put_ints(out, b, m);
	} else if (kind == MPI_DIST_GRAPH) {
		PMPI_Dist_graph_neighbors(comm, n, a, weighted ? b : MPI_UNWEIGHTED, m, c,
					  weighted ? d : MPI_UNWEIGHTED);
		put_number(out, weighted);
		put_ints(out, a, n);
		put_ints(out, b, n);
		put_ints(out, c, m);
		put_ints(out, d, m);
	}
	free(a);
	free(b);
	free(c);
	free(d);
}

static MPI_Comm with_topology(struct bytes *in, MPI_Comm plain)
{
	MPI_Comm made = plain;
	int64_t kind = get_number(in), weighted = kind == DIST_GRAPH ? get_number(in) : 0, n = 0, m = 0, x;
	int rc = MPI_SUCCESS, *a, *b, *c = NULL, *d = NULL;

	if (kind == PLAIN)
		return plain;
	a = get_ints(in, &n);
	b = get_ints(in, &m);
	if (kind == DIST_GRAPH) {
		c = get_ints(in, &m);
		d = get_ints(in, &x);
	}
	if (!in->bad && kind == CART)
		rc = PMPI_Cart_create(plain, (int)n, a, b, 0, &made);
	else if (!in->bad && kind == GRAPH)
		rc = PMPI_Graph_create(plain, (int)n, a, b, 0, &made);
	else if (!in->bad)
		rc = PMPI_Dist_graph_create_adjacent(plain, (int)n, a, weighted ? b : MPI_UNWEIGHTED, (int)m, c,
						     weighted ? d : MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
	in->bad |= rc != MPI_SUCCESS;
	if (!in->bad)
		PMPI_Comm_free(&plain);
	free(a);
	free(b);
	free(c);
	free(d);
	return made;
}

/* All ranks that have some of them make them in the same order: nobody waits in a circle. */
static int by_name(const void *a, const void *b)
{
	const struct vcomm *x = *(struct vcomm *const *)a, *y = *(struct vcomm *const *)b;

	return x->together < y->together ? -1 : x->together > y->together;
}

static void put_comms(struct bytes *out)
{
	struct vcomm *comm, **all = calloc(tables[RDB_COMM].next + 1, sizeof(*all));
	char name[MPI_MAX_OBJECT_NAME];
	int64_t n = 0;
	int len;

	if (!all)
		host->fatal("out of memory for a checkpoint");
	EACH(RDB_COMM, comm)
	all[n++] = comm;
	qsort(all, (size_t)n, sizeof(*all), by_name);
	put_number(out, n);
	for (int64_t i = 0; i < n; i++) {
		MPI_Comm real = REAL(MPI_Comm, all[i]->o.real);

		put_number(out, all[i]->o.id);
		put_number(out, (int64_t)all[i]->together);
		put_ints(out, all[i]->world, all[i]->size);
		put_topology(out, real);
		name[0] = 0;
		PMPI_Comm_get_name(real, name, &len);
		put_text(out, name);
	}
	free(all);
}

static void get_comms(struct bytes *in)
{
	char name[MPI_MAX_OBJECT_NAME];

	for (int64_t n = get_number(in); n > 0 && !in->bad; n--) {
		uint32_t id = (uint32_t)get_number(in);
		uint64_t together = (uint64_t)get_number(in);
		MPI_Group group = get_group(in);
		MPI_Comm real = MPI_COMM_NULL;
		struct vcomm *comm;

		if (!in->bad)
			in->bad = PMPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &real) != MPI_SUCCESS;
		if (group != MPI_GROUP_NULL)
			PMPI_Group_free(&group);
		if (!in->bad)
			real = with_topology(in, real);
		get_text(in, name, sizeof(name));
		if (in->bad)
			return;
		if (*name)
			PMPI_Comm_set_name(real, name);
		comm = (struct vcomm *)object_at(RDB_COMM, id, BITS(real));
		comm->together = together;
		comm->by = "MPI_Comm_create_group";
		comm_describe(comm);
		together_comm(comm, 0);
	}
}

/* ---- infos, operations ---- */

static void put_info(struct bytes *out, MPI_Info info)
{
	char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
	int n = 0, len, flag;

	PMPI_Info_get_nkeys(info, &n);
	put_number(out, n);
	for (int i = 0; i < n; i++) {
		PMPI_Info_get_nthkey(info, i, key);
		value[0] = 0;
		PMPI_Info_get_valuelen(info, key, &len, &flag);
		PMPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag);
		put_text(out, key);
		put_text(out, value);
	}
}

static MPI_Info get_info(struct bytes *in)
{
	char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
	MPI_Info info;

	PMPI_Info_create(&info);
	for (int64_t n = get_number(in); n > 0 && !in->bad; n--) {
		get_text(in, key, sizeof(key));
		get_text(in, value, sizeof(value));
		if (!in->bad)
			PMPI_Info_set(info, key, value);
	}
	return info;
}

static void put_others(struct bytes *out)
{
	struct vobject *one;
	struct vtype *type;
	char name[MPI_MAX_OBJECT_NAME];
	int len, commute;

	EACH_PLAIN(RDB_GROUP, one)
	{
		put_number(out, one->id);
		put_group(out, REAL(MPI_Group, one->real));
	}
	put_number(out, 0);
	EACH(RDB_TYPE, type)
	{
		put_number(out, type->o.id);
		put_type(out, REAL(MPI_Datatype, type->o.real));
		name[0] = 0;
		PMPI_Type_get_name(REAL(MPI_Datatype, type->o.real), name, &len);
		put_text(out, name);
	}
	put_number(out, 0);
	EACH_PLAIN(RDB_OP, one)
	{
		void *function, *caller;

		op_functions(one, &function, &caller);
		PMPI_Op_commutative(REAL(MPI_Op, one->real), &commute);
		put_number(out, one->id);
		put_number(out, commute);
		put_number(out, (int64_t)function);
		put_number(out, (int64_t)caller);
	}
	put_number(out, 0);
	EACH_PLAIN(RDB_INFO, one)
	{
		put_number(out, one->id);
		put_info(out, REAL(MPI_Info, one->real));
	}
	put_number(out, 0);
}

static void get_others(struct bytes *in)
{
	char name[MPI_MAX_OBJECT_NAME];
	uint32_t id;
	bool own;

	while ((id = (uint32_t)get_number(in)) && !in->bad)
		object_at(RDB_GROUP, id, BITS(get_group(in)));
	while ((id = (uint32_t)get_number(in)) && !in->bad) {
		MPI_Datatype real = get_type(in, &own);

		get_text(in, name, sizeof(name));
		if (in->bad)
			return;
		if (*name)
			PMPI_Type_set_name(real, name);
		type_describe((struct vtype *)object_at(RDB_TYPE, id, BITS(real)));
	}
	while ((id = (uint32_t)get_number(in)) && !in->bad) {
		int commute = (int)get_number(in);
		void *function = (void *)get_number(in), *caller = (void *)get_number(in);
		struct vobject *op = object_at(RDB_OP, id, NULL);

		in->bad |= op_again(op, function, caller, commute) != MPI_SUCCESS;
	}
	while ((id = (uint32_t)get_number(in)) && !in->bad)
		object_at(RDB_INFO, id, BITS(get_info(in)));
}

/* ---- requests ---- */

static int by_order(const void *a, const void *b)
{
	const struct vreq *x = *(struct vreq *const *)a, *y = *(struct vreq *const *)b;

	return x->order < y->order ? -1 : x->order > y->order;
}

static void put_request(struct bytes *out, struct vreq *one)
{
	MPI_Status status = status_empty;
	MPI_Count bytes = 0;
	int complete = 0, cancelled = 0;

	if (one->active)
		PMPI_Request_get_status(REAL(MPI_Request, one->o.real), &complete, &status);
	if (complete) {
		PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
		PMPI_Test_cancelled(&status, &cancelled);
	}
	const int64_t numbers[] = {one->o.id,
				   one->receive,
				   one->persistent,
				   one->active,
				   complete,
				   status.MPI_SOURCE,
				   status.MPI_TAG,
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

static void put_requests(struct bytes *out)
{
	struct vreq *one, **all = calloc(tables[RDB_REQUEST].next + 1, sizeof(*all));
	int64_t n = 0;

	if (!all)
		host->fatal("out of memory for a checkpoint");
	EACH(RDB_REQUEST, one)
	{
		if (!one->blocking)
			all[n++] = one;
	}
	qsort(all, (size_t)n, sizeof(*all), by_order);
	put_number(out, n);
	for (int64_t i = 0; i < n; i++)
		put_request(out, all[i]);
	free(all);
}

static int peer_of(int64_t peer)
{
	return peer == -1 ? MPI_ANY_SOURCE : peer == -2 ? MPI_PROC_NULL : (int)peer;
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

static void get_request(struct bytes *in)
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
	const int peer = peer_of(v[11]), tag = v[12] == -1 ? MPI_ANY_TAG : (int)v[12];
	struct vreq *r;

	if (receive && (persistent || !complete)) {
		rc = request_again(id, (void *)v[13], (int)v[10], type, peer, tag, comm, persistent);
		r = request_of(id);
	} else {
		r = (struct vreq *)object_at(RDB_REQUEST, id, NULL);
		r->receive = receive;
		r->buf = (void *)v[13];
		r->count = (int)v[10];
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
		rc = request_done((int)v[5], (int)v[6], v[7], v[8], &done);
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
		object_drop(&type->o); /* the program has no handle of it any more */
	in->bad |= rc != MPI_SUCCESS;
}

/* ---- all of it ---- */

int state_save(void **bytes, size_t *len)
{
	struct bytes out = {0};
	int level = MPI_THREAD_SINGLE;

	PMPI_Query_thread(&level);
	put_number(&out, level == MPI_THREAD_MULTIPLE     ? 3
			 : level == MPI_THREAD_SERIALIZED ? 2
			 : level == MPI_THREAD_FUNNELED   ? 1
							  : 0);
	put_bytes(&out, tables_shown(), sizeof(struct rdb_predef_table));
	put_number(&out, (int64_t)together_counts[0]);
	put_number(&out, (int64_t)together_counts[1]);
	put_number(&out, (int64_t)together_salt);
	put_number(&out, together_exchanged);
	put_comms(&out);
	put_others(&out);
	put_requests(&out);
	for (const struct drained *one = drained_first; one; one = one->next) {
		put_number(&out, one->comm->o.id);
		put_number(&out, one->source);
		put_number(&out, one->tag);
		put_number(&out, (int64_t)one->bytes);
		put_bytes(&out, one->data, one->bytes);
	}
	put_number(&out, 0);
	*bytes = out.base;
	*len = out.len;
	return 0;
}

const char *state_load(const void *bytes, size_t len)
{
	static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
				     MPI_THREAD_MULTIPLE};
	struct bytes in = {.at = bytes, .end = (const char *)bytes + len};
	int64_t level = get_number(&in), sent, received;
	const struct rdb_predef_table *upper = get_bytes(&in, sizeof(*upper));
	struct rdb_predef_table shown;
	const char *why;
	uint32_t id;

	if (!upper)
		return "what it had in MPI is damaged";
	memcpy(&shown, upper, sizeof(shown));
	sent = get_number(&in);
	received = get_number(&in);
	together_salt = (uint64_t)get_number(&in) + 1;
	together_exchanged = get_number(&in);
	why = plugin_alive(levels[level & 3], &shown);
	if (why)
		return why;
	get_comms(&in);
	if (!in.bad)
		get_others(&in);
	for (int64_t n = in.bad ? 0 : get_number(&in); n > 0 && !in.bad; n--)
		get_request(&in);
	while (!in.bad && (id = (uint32_t)get_number(&in))) {
		int source = (int)get_number(&in), tag = (int)get_number(&in);
		size_t size = (size_t)get_number(&in);
		const void *data = get_bytes(&in, size);

		if (data)
			drained_add(comm_of(id), source, tag, data, size);
	}
	if (together_on) {
		together_counts[0] = (uint64_t)sent;
		together_counts[1] = (uint64_t)received;
	}
	return in.bad ? "an object that it had in MPI cannot be made again" : NULL;
}
