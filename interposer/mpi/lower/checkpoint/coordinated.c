#include "lower/checkpoint/coordinated.h"
#include <stdio.h>
#include "base/fnv.h"
#include "lower/core/requests.h"
#include "lower/checkpoint/coordinated_files.h"
#include "lower/checkpoint/coordinated_state.h"
#include "lower/windows/windows.h"

uint64_t *coordinated_counts;
static unsigned sending;
uint64_t coordinated_salt;

static struct board_slot *own;
static const char *why_not;
static int8_t *comm_at; /* by function: 1 + index of a collective's communicator argument; 0: not a collective */

/* Serials of communicators made with the same members. */
static struct made {
	uint64_t base, count;
} * made;
static size_t nmade;

static const char collectives[] =
	" Barrier Ibarrier Bcast Ibcast Gather Igather Gatherv Igatherv Scatter Iscatter Scatterv Iscatterv Allgather"
	" Iallgather Allgatherv Iallgatherv Alltoall Ialltoall Alltoallv Ialltoallv Alltoallw Ialltoallw Reduce Ireduce"
	" Allreduce Iallreduce Scan Iscan Exscan Iexscan Reduce_scatter Ireduce_scatter Reduce_scatter_block"
	" Ireduce_scatter_block Neighbor_allgather Ineighbor_allgather Neighbor_allgatherv Ineighbor_allgatherv"
	" Neighbor_alltoall Ineighbor_alltoall Neighbor_alltoallv Ineighbor_alltoallv Neighbor_alltoallw"
	" Ineighbor_alltoallw Comm_dup Comm_dup_with_info Comm_idup Comm_split Comm_split_type Comm_create"
	" Intercomm_create Intercomm_merge Cart_create Cart_sub Graph_create Dist_graph_create"
	" Dist_graph_create_adjacent File_open Win_create Win_create_dynamic Win_allocate Win_allocate_shared ";

static void learn_functions(void)
{
	char word[128];

	comm_at = needed(calloc(real_function_count, 1));
	for (unsigned i = 0; i < real_function_count; i++) {
		const char *name = real_functions[i].name;

		if (!name || strncmp(name, "MPI_", 4))
			continue;
		procedure_word(name, word, sizeof(word));
		if (strstr(collectives, word))
			comm_at[i] = (int8_t)(1 + (strchr(real_functions[i].handles, 'c') - real_functions[i].handles));
	}
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return fnv1a(hash, &value, sizeof(value));
}

static uint64_t serial_of(uint64_t base)
{
	for (size_t i = 0; i < nmade; i++) {
		if (made[i].base == base)
			return ++made[i].count;
	}
	if (!(nmade & (nmade - 1))) {
		made = needed(realloc(made, (nmade ? nmade * 2 : 1) * sizeof(*made)));
	}
	made[nmade++] = (struct made){.base = base};
	return 0;
}

static struct board_clock *clock_of(uint64_t id)
{
	for (uint64_t i = 0; own && id && i < own->nclocks; i++) {
		if (own->clocks[i].id == id)
			return &own->clocks[i];
	}
	return NULL;
}

/* What the board has no room for; it stays out until it is forgotten, since its count would be wrong. */
static struct {
	uint64_t *ids;
	size_t n, room;
} uncounted;

static size_t uncounted_at(uint64_t id)
{
	size_t at = 0;

	while (at < uncounted.n && uncounted.ids[at] != id)
		at++;
	return at;
}

static void add_clock(uint64_t id)
{
	if (clock_of(id) || uncounted_at(id) < uncounted.n)
		return;
	if (own->nclocks == BOARD_COMMS) {
		if (uncounted.n == uncounted.room) {
			uncounted.room += BOARD_COMMS;
			uncounted.ids = needed(realloc(uncounted.ids, uncounted.room * sizeof(*uncounted.ids)));
		}
		uncounted.ids[uncounted.n++] = id;
		return;
	}
	own->clocks[own->nclocks] = (struct board_clock){.id = id};
	__atomic_store_n(&own->nclocks, own->nclocks + 1, __ATOMIC_SEQ_CST);
}

void coordinated_clock(uint64_t id)
{
	add_clock(id);
}

static uint64_t mix_ranks(uint64_t hash, const int *world, int n)
{
	for (int i = 0; i < n; i++)
		hash = mix(hash, (uint64_t)world[i]);
	return hash;
}

/* Both sides of an inter-communicator get the same hash. */
static uint64_t mix_groups(uint64_t hash, const struct vcomm *comm)
{
	int *locals = coordinated_locals(comm);
	const bool first = comm->size && comm->remote && locals[0] < comm->world[0];

	hash = first ? mix_ranks(hash, locals, comm->size) : mix_ranks(hash, comm->world, comm->remote);
	hash = mix(hash, 0x696e746572);
	hash = first ? mix_ranks(hash, comm->world, comm->remote) : mix_ranks(hash, locals, comm->size);
	free(locals);
	return hash;
}

/* Names a communicator by its members and a serial number.  All members make communicators of the same group in the
 * same order, since creation is collective.  MPI_Comm_idup does not guarantee that; its copies have a name already. */
void coordinated_comm(struct vcomm *comm)
{
	uint64_t hash = mix(FNV_BEGIN, coordinated_salt << 32);

	hash = comm->inter ? mix_groups(hash, comm) : mix_ranks(hash, comm->world, comm->size);
	if (!comm->page_name)
		comm->page_name = (mix(hash, serial_of(hash)) | 1) & ~BOARD_PAIR;
	if (comm->size > 1 || comm->inter)
		add_clock(comm->page_name);
}

void coordinated_mpi(enum board_mpi state)
{
	if (host->board)
		__atomic_store_n(&board_slot(host->board, (unsigned)host->rank)->mpi, state, __ATOMIC_SEQ_CST);
}

void coordinated_end(void)
{
	why_not = "it has called MPI_Finalize";
	coordinated_mpi(BOARD_MPI_ENDS);
}

static bool of_name(uint64_t id, uint64_t name)
{
	return id == name || board_pair_of(id, name);
}

void coordinated_forget(uint64_t name)
{
	for (uint64_t i = own && name ? own->nclocks : 0; i-- > 0;) {
		if (!of_name(own->clocks[i].id, name))
			continue;
		own->clocks[i] = own->clocks[own->nclocks - 1];
		__atomic_store_n(&own->nclocks, own->nclocks - 1, __ATOMIC_SEQ_CST);
	}
	for (size_t i = name ? uncounted.n : 0; i-- > 0;) {
		if (of_name(uncounted.ids[i], name))
			uncounted.ids[i] = uncounted.ids[--uncounted.n];
	}
}

/* ---- the program's calls ---- */

static void count(struct vcomm *comm)
{
	struct board_clock *clock = clock_of(comm->page_name);

	if (clock)
		__atomic_add_fetch(&clock->count, 1, __ATOMIC_SEQ_CST);
}

uint64_t coordinated_name(const struct vcomm *comm)
{
	uint64_t hash = mix(comm->page_name, 0x77696e + (coordinated_salt << 32));

	return (mix(hash, serial_of(hash)) | 1) & ~BOARD_PAIR;
}

void coordinated_count(uint64_t id)
{
	struct board_clock *clock;

	add_clock(id);
	clock = clock_of(id);
	if (clock)
		__atomic_add_fetch(&clock->count, 1, __ATOMIC_SEQ_CST);
}

/* Counts a step that this rank and `other` take together: a rank that is needed for it is not held before it. */
static void count_pair(uint64_t name, bool second, int other)
{
	if (other < 0 || other == host->rank)
		return;
	coordinated_count(board_pair(name, second, (unsigned)(other < host->rank ? other : host->rank),
				     (unsigned)(other < host->rank ? host->rank : other)));
}

/* local_comm, local_leader, peer_comm, remote_leader.  Only the leaders of the two groups know each other. */
static void count_leaders(const uint64_t *a)
{
	const struct vcomm *peers = comm_of(a[2]);

	if (comm_of(a[0])->rank == (int)a[1])
		count_pair(peers->page_name, false, comm_world_rank(peers, (int)a[3]));
}

int *coordinated_members(MPI_Group group, int *n)
{
	MPI_Group world;
	int *ranks;

	*n = 0;
	if (PMPI_Group_size(group, n) != MPI_SUCCESS || PMPI_Comm_group(MPI_COMM_WORLD, &world) != MPI_SUCCESS) {
		*n = 0;
		return NULL;
	}
	ranks = needed(malloc(((size_t)*n + 1) * sizeof(*ranks)));
	for (int i = 0; i < *n; i++) {
		ranks[i] = MPI_UNDEFINED;
		PMPI_Group_translate_ranks(group, 1, &i, world, &ranks[i]);
		if (ranks[i] == MPI_UNDEFINED)
			ranks[i] = -1;
	}
	PMPI_Group_free(&world);
	return ranks;
}

/* comm, group.  Collective in the group, not in the communicator. */
static void count_members(const uint64_t *a)
{
	int n, *ranks = coordinated_members(REAL(MPI_Group, group_of(a[1])->real), &n);

	for (int i = 0; i < n; i++)
		count_pair(comm_of(a[0])->page_name, true, ranks[i]);
	free(ranks);
}

/* Calls that wait for processes that we do not know. */
static bool silent(unsigned index)
{
	return index == RDB_Comm_spawn || index == RDB_Comm_spawn_multiple || index == RDB_Comm_accept ||
	       index == RDB_Comm_connect || index == RDB_Comm_join;
}

const uint64_t *coordinated_before(unsigned index, uint32_t nargs, const uint64_t *a, uint64_t *changed)
{
	const uint64_t *given = a;

	inside_calls();
	host->at_rest(NULL, NULL);
	for (uint64_t name; freed_there && (name = freed_next());)
		coordinated_forget(name);
	if (silent(index))
		__atomic_add_fetch(&own->silent, 1, __ATOMIC_SEQ_CST);
	if (comm_at[index]) {
		given = inside_begin(index, nargs, a, comm_of(a[comm_at[index] - 1]), changed);
		count(comm_of(a[comm_at[index] - 1]));
	} else if ((index == RDB_Comm_free || index == RDB_Comm_disconnect) && a[0])
		count(comm_of(rdb_id(RDB_COMM, *(void **)a[0])));
	else if (index == RDB_Comm_create_group)
		count_members(a);
	if (index == RDB_Intercomm_create)
		count_leaders(a);
	windows_called(index, a);
	files_called(index, a);
	return given;
}

static void asked(void **upper, const uint64_t *a, char mode)
{
	struct vreq *request = request_at(upper);

	if (request->o.id < RDB_FIRST_DYNAMIC)
		return;
	request->asked_peer = (int)a[3];
	request->asked_tag = (int)a[4];
	request->mode = mode;
}

void coordinated_after(unsigned index, const uint64_t *a, int64_t result)
{
	inside_end(result);
	if (silent(index))
		__atomic_sub_fetch(&own->silent, 1, __ATOMIC_SEQ_CST);
	if (result)
		return;
	windows_answered(index, a);
	switch (index) {
	case RDB_Irecv:
	case RDB_Recv_init: asked((void **)a[6], a, 0); break;
	case RDB_Send_init: asked((void **)a[6], a, 'n'); break;
	case RDB_Ssend_init: asked((void **)a[6], a, 's'); break;
	case RDB_Rsend_init: asked((void **)a[6], a, 'r'); break;
	case RDB_Bsend_init: asked((void **)a[6], a, 'b'); break;
	default: break;
	}
}

static void until(bool (*complete)(void *), void *arg)
{
	while (!complete(arg))
		host->at_rest(complete, arg);
}

struct one {
	MPI_Request *real;
	MPI_Status *status;
	int flag, rc;
};

static bool one_done(void *arg)
{
	struct one *one = arg;

	if (!one->flag && one->rc == MPI_SUCCESS)
		one->rc = PMPI_Test(one->real, &one->flag, one->status);
	return one->flag || one->rc != MPI_SUCCESS;
}

static int wait(MPI_Request *real, MPI_Status *status, bool sends)
{
	struct one one = {.real = real, .status = status};

	sending += sends;
	until(one_done, &one);
	sending -= sends;
	return one.rc;
}

static void count_sent(void)
{
	__atomic_add_fetch(&coordinated_counts[0], 1, __ATOMIC_SEQ_CST);
}

static void count_received(void)
{
	__atomic_add_fetch(&coordinated_counts[1], 1, __ATOMIC_SEQ_CST);
}

static const struct observer observes = {
	.until = until,
	.wait = wait,
	.sent = count_sent,
	.received = count_received,
	.comm_made = coordinated_comm,
	.comm_free = freed_begin,
	.comm_freed = coordinated_forget,
	.comm_name = coordinated_name,
	.file_made = coordinated_file,
	.file_closed = coordinated_file_closed,
	.window_made = coordinated_window,
	.window_gone = coordinated_window_gone,
};

void coordinated_begin(void)
{
	int rank, size;

	if (!host->board)
		return;
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &size);
	own = board_slot(host->board, (unsigned)host->rank);
	coordinated_counts = &own->sent;
	own->nclocks = own->sent = own->received = own->inside = 0;
	uncounted.n = 0;
	observer = &observes;
	coordinated_mpi(BOARD_MPI_RUNS);
	if (rank != host->rank || size != (int)host->board->nranks)
		why_not = "its MPI_COMM_WORLD is not that of the job";
	if (!comm_at)
		learn_functions();
	inside_ready(own);
	for (uint32_t id = RDB_NULL_ID + 1; id < RDB_FIRST_DYNAMIC; id++) {
		struct vcomm *comm = comm_of(id);

		if ((comm->o.real == BITS(MPI_COMM_WORLD) || comm->o.real == BITS(MPI_COMM_SELF)) && comm->o.id == id)
			coordinated_comm(comm);
	}
}

/* ---- being held ---- */

/* Another rank has not begun a collective that this rank has begun.  The other rank may need this rank to get there, so
 * this rank must not be held, unless it waits itself. */
static bool ahead(void)
{
	for (unsigned rank = 0; rank < host->board->nranks; rank++) {
		const struct board_slot *s = board_slot(host->board, rank);

		for (uint64_t i = 0; i < own->nclocks; i++) {
			for (uint64_t k = 0; k < s->nclocks; k++) {
				if (s->clocks[k].id == own->clocks[i].id && board_count(s, k) < board_count(own, i))
					return true;
			}
		}
	}
	return false;
}

static bool collective_under_way(void)
{
	const struct table *table = &tables[RDB_REQUEST];

	for (uint32_t id = RDB_FIRST_DYNAMIC; id < table->next; id++) {
		const struct vreq *request = request_of(id);

		if (request->o.id == id && request->active && request->pending && !request->delivered)
			return true;
	}
	return false;
}

static bool may_hold(bool waits)
{
	if (!observer)
		return true;
	if (!windows_quiet() || !files_quiet())
		return false;
	return waits || (!pending_operations && !((freed_there || collective_under_way()) && ahead()));
}

static uint64_t settle(void)
{
	const struct table *requests = &tables[RDB_REQUEST], *comms = &tables[RDB_COMM];
	uint64_t pending = sending;

	if (!observer)
		return 0;
	windows_complete();
	for (uint32_t id = RDB_FIRST_DYNAMIC; id < requests->next; id++) {
		struct vreq *request = request_of(id);
		MPI_Status status = status_empty;

		if (request->o.id != id || !request->active || request->blocking || request->generalized)
			continue;
		if (request_ended(request, &status))
			request_peek(request, &status);
		else if (!request->receive)
			pending++;
	}
	for (uint32_t id = RDB_NULL_ID + 1; id < comms->next; id++) {
		struct vcomm *comm = comm_of(id);

		if (comm->o.id == id && comm->o.real)
			drained_take(comm);
	}
	return pending + messages_take();
}

static bool complete(struct vreq *request)
{
	MPI_Status status = status_empty;

	return request_ended(request, &status);
}

static bool has_strangers(void)
{
	struct vcomm *comm;

	EACH(RDB_COMM, comm)
	{
		for (int i = 0; i < comm_peers(comm); i++) {
			if (comm->world[i] < 0)
				return true;
		}
	}
	return false;
}

static const char *refuses(void)
{
	static const char unknown_type[] = "it has a datatype that was made with large counts (MPI_Type_..._c)";
	struct vtype *type;

	if (!observer)
		return NULL;
	if (why_not)
		return why_not;
	if (uncounted.n)
		return "it has too many communicators and windows";
	if (has_strangers())
		return "it has a communicator with processes that are not in its MPI_COMM_WORLD";
	const char *why = files_refuse();

	if (why)
		return why;
	if (tools_begun())
		return "it has called MPI_T_init_thread, and another process would lack its MPI_T handles";
	if (requests_have_orphans())
		return "it has freed the request of a pending receive (MPI_Request_free)";
	EACH(RDB_TYPE, type)
	{
		if (!type_known(REAL(MPI_Datatype, type->o.real)))
			return unknown_type;
	}
	for (uint32_t id = RDB_FIRST_DYNAMIC; id < tables[RDB_REQUEST].next; id++) {
		struct vreq *request = request_of(id);

		if (request->o.id == id && request->type && !type_known(REAL(MPI_Datatype, request->type->o.real)))
			return unknown_type;
		if (request->o.id == id && request->partitioned)
			return "it has a partitioned request (MPI_Psend_init, MPI_Precv_init)";
		if (request->o.id == id && request->active && request->o.real && !request->generalized &&
		    (request->staged_read || (!request->comm && !request->receive)) && !complete(request))
			return "it has a pending request of an MPI file or window";
	}
	return NULL;
}

static int save(void **bytes, size_t *len)
{
	if (!observer)
		return 0;
	if (windows_there)
		windows_take(); /* no operation is under way any more: all data that others have put is here */
	return state_save(bytes, len);
}

const struct rdb_coordinated coordinated_calls = {
	.may_hold = may_hold,
	.settle = settle,
	.refuses = refuses,
	.save = save,
	.load = state_load,
	.shares = windows_share,
};
