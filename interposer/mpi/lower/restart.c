/* Going live again: a replay calls here beside the log's answers, so that the real MPI has, at the cut, what the
 * program made: the same objects under the same handles, its pending requests, and the messages that were
 * under way.  What the log has answered is not done again: no message that was received, no collective. */
#include <stdio.h>
#include "requests.h"

enum kind {
	UNKNOWN,
	QUIET,
	MAKES,
	SENDS,
	EXCHANGES,
	POSTS_SEND,
	POSTS_RECEIVE,
	POSTS_OTHER,
	ONE,
	MANY,
	MATCHES,
	TAKES
};

static const struct {
	enum kind kind;
	const char *names;
} lists[] = {
	{QUIET,
	 " Query_thread Is_thread_main Get_library_version Get_processor_name Error_string Error_class Comm_rank"
	 " Comm_size Comm_remote_size Comm_test_inter Comm_compare Comm_get_name Comm_get_attr Group_size Group_rank"
	 " Group_translate_ranks Group_compare Get_count Get_elements Get_elements_x Test_cancelled"
	 " Status_set_elements Status_set_elements_x Status_set_cancelled Type_size Type_size_x Type_get_extent"
	 " Type_get_extent_x Type_get_true_extent Type_get_true_extent_x Type_get_envelope Type_get_name Pack_size"
	 " Pack_external_size Op_commutative Cart_get Cart_rank Cart_coords Cart_shift Cart_map Cartdim_get"
	 " Dims_create Topo_test Graph_get Graph_map Graph_neighbors Graph_neighbors_count Graphdims_get"
	 " Info_get_nkeys Info_get_valuelen Info_get Info_get_nthkey Pack Pack_external Unpack Unpack_external"
	 " Wtime Wtick Recv Probe Iprobe Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv"
	 " Alltoall Alltoallv Alltoallw Reduce Allreduce Scan Exscan Reduce_scatter Reduce_scatter_block"
	 " Reduce_local Request_get_status Cancel Neighbor_allgather"
	 " Neighbor_allgatherv Neighbor_alltoall Neighbor_alltoallv Neighbor_alltoallw"
	 " Dist_graph_neighbors Dist_graph_neighbors_count "},
	{MAKES, " Init Init_thread Comm_dup Comm_dup_with_info Comm_split Comm_split_type Comm_create Comm_create_group"
		" Intercomm_create Intercomm_merge Cart_create Cart_sub Graph_create Dist_graph_create"
		" Dist_graph_create_adjacent Comm_free Comm_disconnect Comm_group"
		" Comm_remote_group Comm_get_info Comm_set_info Comm_set_name Comm_get_parent Group_incl Group_excl"
		" Group_range_incl Group_range_excl Group_union Group_intersection Group_difference Group_free"
		" Type_contiguous Type_vector Type_create_hvector Type_indexed Type_create_hindexed"
		" Type_create_indexed_block Type_create_hindexed_block Type_create_struct Type_create_resized"
		" Type_create_subarray Type_create_darray Type_create_f90_integer Type_create_f90_real"
		" Type_create_f90_complex Type_match_size Type_dup Type_commit Type_free Type_set_name"
		" Type_get_contents Op_create Op_free Info_create Info_dup Info_set Info_delete Info_free"
		" Buffer_attach Buffer_detach Add_error_class Add_error_code Add_error_string "},
	{SENDS, " Send Ssend Rsend Bsend "},
	{EXCHANGES, " Sendrecv Sendrecv_replace "},
	{POSTS_SEND, " Isend Issend Irsend Ibsend "},
	{POSTS_RECEIVE, " Irecv "},
	{POSTS_OTHER, " Imrecv Ibarrier Recv_init Send_init Ssend_init Rsend_init Bsend_init Ibcast Igather"
		      " Igatherv Iscatter Iscatterv Iallgather Iallgatherv Ialltoall Ialltoallv Ialltoallw Ireduce"
		      " Iallreduce Ireduce_scatter Ireduce_scatter_block Iscan Iexscan "},
	{ONE, " Wait Test Request_free "},
	{MANY, " Waitall Waitany Waitsome Testall Testany Testsome "},
	{MATCHES, " Mprobe Improbe "},
	{TAKES, " Mrecv "},
};

/* A request that the program has posted and not yet seen complete. */
struct pending {
	struct pending *next;
	enum kind kind;
	const char *name;
	uint32_t id;
	struct vtype *type;
	struct vcomm *comm;
	void *buf;
	int count, source, tag;
};

static struct {
	struct pending *first, **last;
	uint32_t *asked; /* requests that the present call is about */
	size_t nasked, room;
	int messages; /* matched by a probe, not received */
	char why[256];
} restart = {.last = &restart.first};

static enum kind kind_of(const char *name)
{
	char word[128];

	snprintf(word, sizeof(word), " %s ", strncmp(name, "MPI_", 4) ? name : name + 4);
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		if (strstr(lists[i].names, word))
			return lists[i].kind;
	}
	return UNKNOWN;
}

static const char *refuse(const char *name, const char *what)
{
	snprintf(restart.why, sizeof(restart.why), "%s%s%s", name, *name ? ": " : "", what);
	return restart.why;
}

/* ---- messages under way ---- */

/* The message leaves again; the program may write to its buffer, so it goes from a copy, which stays. */
static const char *send_again(const char *name, const uint64_t *a, struct vcomm *comm)
{
	const struct vtype *type = type_of(a[2]);
	int count = (int)a[1], size = 0, rc;
	MPI_Request request;
	char *copy;

	if (type->dense) {
		size_t bytes = count > 0 ? (count - 1) * type->extent + type->true_extent : 0;

		copy = malloc(bytes + 1);
		if (!copy)
			return refuse(name, "no memory for a message");
		memcpy(copy, (char *)a[0] + type->true_lb, bytes);
		rc = PMPI_Isend(copy - type->true_lb, count, type->o.real, (int)a[3], (int)a[4], comm->o.real,
				&request);
	} else {
		int position = 0;

		PMPI_Pack_size(count, type->o.real, comm->o.real, &size);
		copy = malloc(size + 1);
		if (!copy)
			return refuse(name, "no memory for a message");
		PMPI_Pack((void *)a[0], count, type->o.real, copy, size, &position, comm->o.real);
		rc = PMPI_Isend(copy, position, MPI_PACKED, (int)a[3], (int)a[4], comm->o.real, &request);
	}
	if (rc == MPI_SUCCESS)
		rc = PMPI_Request_free(&request);
	return rc == MPI_SUCCESS ? NULL : refuse(name, "its message could not be sent again");
}

static const char *message(const char *name, enum kind kind, const uint64_t *a)
{
	switch (kind) {
	case SENDS:
	case POSTS_SEND: return send_again(name, a, comm_of(a[5]));
	case EXCHANGES: return send_again(name, a, comm_of(strstr(name, "replace") ? a[7] : a[10]));
	default: return refuse(name, "a message of it is under way, which cannot be sent again");
	}
}

/* ---- requests ---- */

static void **requests_asked(enum kind kind, const uint64_t *a, size_t *count)
{
	*count = kind == ONE ? 1 : (int)a[0] > 0 ? (size_t)(int)a[0] : 0;
	return (void **)(kind == ONE ? a[0] : a[1]);
}

static void asked(enum kind kind, const uint64_t *a)
{
	void **upper = requests_asked(kind, a, &restart.nasked);

	if (!upper)
		restart.nasked = 0;
	if (restart.nasked > restart.room) {
		restart.room = restart.nasked;
		restart.asked = realloc(restart.asked, restart.room * sizeof(*restart.asked));
		if (!restart.asked)
			host->fatal("out of memory in the MPI boundary");
	}
	for (size_t i = 0; i < restart.nasked; i++)
		restart.asked[i] = rdb_id(RDB_REQUEST, upper[i]);
}

static struct pending **find(uint32_t id)
{
	struct pending **at = &restart.first;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

static void settled(uint32_t id)
{
	struct pending **at = find(id), *gone = *at;

	if (!gone)
		return;
	*at = gone->next;
	if (!*at)
		restart.last = at;
	if (gone->type)
		object_release(&gone->type->o);
	if (gone->comm)
		object_release(&gone->comm->o);
	free(gone);
}

static const char *answered(const char *name, enum kind kind, const uint64_t *a)
{
	size_t count;
	void **upper = requests_asked(kind, a, &count);

	for (size_t i = 0; i < restart.nasked; i++) {
		const struct pending *one = *find(restart.asked[i]);

		if (!one || rdb_id(RDB_REQUEST, upper[i]) == restart.asked[i])
			continue;
		if (one->kind == POSTS_RECEIVE && strstr(name, "Request_free"))
			return refuse(name, "of a receive that goes on, which cannot be brought back");
		settled(restart.asked[i]);
	}
	return NULL;
}

/* The request is the last argument of all of them. */
static void posted(const char *name, enum kind kind, uint32_t nargs, const uint64_t *a)
{
	void **upper = nargs ? (void **)a[nargs - 1] : NULL;
	struct pending *one = calloc(1, sizeof(*one));

	if (!one)
		host->fatal("out of memory in the MPI boundary");
	*one = (struct pending){.kind = kind, .name = name, .id = upper ? rdb_id(RDB_REQUEST, *upper) : 0};
	if (one->id < RDB_FIRST_DYNAMIC) {
		free(one);
		return;
	}
	if (kind == POSTS_RECEIVE) {
		one->buf = (void *)a[0];
		one->count = (int)a[1];
		one->type = object_hold(type_of(a[2]));
		one->source = rank_in((int)a[3]);
		one->tag = tag_in((int)a[4]);
		one->comm = object_hold(comm_of(a[5]));
	}
	*restart.last = one;
	restart.last = &one->next;
}

/* ---- the cut ---- */

static const char *again(const struct pending *one)
{
	MPI_Request real = MPI_REQUEST_NULL;
	struct vreq *request;
	int rc;

	if (one->kind == POSTS_OTHER)
		return refuse(one->name, "its request is pending, or persistent, which cannot be brought back");
	if (one->kind == POSTS_RECEIVE)
		return request_receive_again(one->id, one->buf, one->count, one->type, one->source, one->tag, one->comm)
			       ? refuse(one->name, "the receive could not be posted again")
			       : NULL;
	/* its message has arrived, or leaves again from a copy: all that is left of it is to be waited for */
	rc = PMPI_Isend(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &real);
	if (rc != MPI_SUCCESS)
		return refuse(one->name, "its request could not be made again");
	request = (struct vreq *)object_at(RDB_REQUEST, one->id, real);
	request->active = true;
	return NULL;
}

static const char *cut(void)
{
	const char *why = NULL;

	if (restart.messages)
		return refuse("", "it has matched a message (MPI_Mprobe) that it has not received");
	/* receives in the order in which they were posted */
	for (const struct pending *one = restart.first; one && !why; one = one->next)
		why = again(one);
	while (!why && restart.first)
		settled(restart.first->id);
	return why;
}

static int64_t made_again(unsigned index, uint32_t nargs, const uint64_t *a)
{
#ifdef OPEN_MPI
	(void)nargs;
	return real_functions[index].call(a);
#else
	return translated_call(index, real_functions[index].call, nargs, a);
#endif
}

const char *plugin_restart(enum rdb_restart step, uint32_t fn, uint32_t nargs, const uint64_t *a, int64_t *result)
{
	unsigned index = fn & 0xffff;
	const struct real_function *function = index < real_function_count ? &real_functions[index] : NULL;
	enum kind kind;

	if (step == RDB_RESTART_CUT)
		return cut();
	if (!function || !function->call)
		return refuse(function ? function->name : "an MPI call", "not supported");
	kind = kind_of(function->name);
	switch (step) {
	case RDB_RESTART_SEND: return message(function->name, kind, a);
	case RDB_RESTART_ASKED:
		if (kind == UNKNOWN)
			return refuse(function->name, "what it does cannot be brought back");
		if (kind == ONE || kind == MANY)
			asked(kind, a);
		/* what it frees is named by the program's memory as it is now */
		if (kind == MAKES && !*result)
			*result = 1 + made_again(index, nargs, a);
		return NULL;
	default: break;
	}
	if (kind == ONE || kind == MANY)
		return answered(function->name, kind, a);
	if (*result)
		return NULL; /* it failed */
	if (kind == POSTS_SEND || kind == POSTS_RECEIVE || kind == POSTS_OTHER)
		posted(function->name, kind, nargs, a);
	if (kind == MATCHES)
		restart.messages += strstr(function->name, "Improbe") ? *(int *)a[3] : 1;
	if (kind == TAKES || strstr(function->name, "Imrecv"))
		restart.messages--;
	return NULL;
}
