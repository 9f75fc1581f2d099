#include "together.h"
#include <stdio.h>
#include "requests.h"
#include "together_files.h"
#include "windows.h"

bool together_on;
uint64_t *together_counts;
unsigned together_sending;
uint64_t together_salt;

static struct board_slot *own;
static const char *why_not;
static int8_t *comm_at; /* of each function: 1 + which argument is the communicator of a collective */

/* Serials of communicators made with the same members. */
static struct made {
	uint64_t base, count;
} * made;
static size_t nmade;

static const struct {
	int at;
	const char *names;
} collectives[] = {
	{1, " Win_create_dynamic "},
	{3, " Win_allocate Win_allocate_shared "},
	{0, " Barrier Ibarrier Comm_dup Comm_dup_with_info Comm_idup Comm_split Comm_split_type Comm_create"
	    " Intercomm_create Intercomm_merge Cart_create Cart_sub Graph_create Dist_graph_create"
	    " Dist_graph_create_adjacent File_open "},
	{4, " Bcast Ibcast Win_create "},
	{5, " Allreduce Iallreduce Scan Iscan Exscan Iexscan Reduce_scatter Ireduce_scatter Reduce_scatter_block"
	    " Ireduce_scatter_block "},
	{6, " Reduce Ireduce Allgather Iallgather Alltoall Ialltoall Neighbor_allgather Ineighbor_allgather"
	    " Neighbor_alltoall Ineighbor_alltoall "},
	{7, " Gather Igather Scatter Iscatter Allgatherv Iallgatherv Neighbor_allgatherv Ineighbor_allgatherv "},
	{8, " Gatherv Igatherv Scatterv Iscatterv Alltoallv Ialltoallv Alltoallw Ialltoallw Neighbor_alltoallv"
	    " Ineighbor_alltoallv Neighbor_alltoallw Ineighbor_alltoallw "},
};

static void learn_functions(void)
{
	char word[128];

	comm_at = calloc(real_function_count, 1);
	if (!comm_at)
		host->fatal("out of memory in the MPI boundary");
	for (unsigned i = 0; i < real_function_count; i++) {
		const char *name = real_functions[i].name;

		if (!name || strncmp(name, "MPI_", 4))
			continue;
		procedure_word(name, word, sizeof(word));
		for (size_t k = 0; k < sizeof(collectives) / sizeof(*collectives); k++) {
			if (strstr(collectives[k].names, word))
				comm_at[i] = (int8_t)(1 + collectives[k].at);
		}
	}
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	for (int i = 0; i < 8; i++)
		hash = (hash ^ (value >> (8 * i) & 0xff)) * 0x100000001b3ull;
	return hash;
}

static uint64_t serial_of(uint64_t base)
{
	for (size_t i = 0; i < nmade; i++) {
		if (made[i].base == base)
			return ++made[i].count;
	}
	if (!(nmade & (nmade - 1))) {
		made = realloc(made, (nmade ? nmade * 2 : 1) * sizeof(*made));
		if (!made)
			host->fatal("out of memory in the MPI boundary");
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

static void add_clock(uint64_t id)
{
	if (clock_of(id))
		return;
	if (own->nclocks == BOARD_COMMS) {
		why_not = "it has made too many communicators since the last checkpoint";
		return;
	}
	own->clocks[own->nclocks] = (struct board_clock){.id = id};
	__atomic_store_n(&own->nclocks, own->nclocks + 1, __ATOMIC_SEQ_CST);
}

void together_clock(uint64_t id)
{
	add_clock(id);
}

static uint64_t mix_ranks(uint64_t hash, const int *world, int n)
{
	for (int i = 0; i < n; i++)
		hash = mix(hash, (uint64_t)world[i]);
	return hash;
}

/* The same from both sides. */
static uint64_t mix_groups(uint64_t hash, const struct vcomm *comm)
{
	int *locals = together_locals(comm);
	const bool first = comm->size && comm->remote && locals[0] < comm->world[0];

	hash = first ? mix_ranks(hash, locals, comm->size) : mix_ranks(hash, comm->world, comm->remote);
	hash = mix(hash, 0x696e746572);
	hash = first ? mix_ranks(hash, comm->world, comm->remote) : mix_ranks(hash, locals, comm->size);
	free(locals);
	return hash;
}

/* By its members: those of several make them in the same order, since who makes one waits for the others.  Of a copy
 * that MPI_Comm_idup begins that need not be so, and it has its name already. */
void together_comm(struct vcomm *comm)
{
	uint64_t hash = mix(0xcbf29ce484222325ull, together_salt << 32);

	if (!together_on)
		return;
	for (int i = 0; i < comm_peers(comm); i++) {
		if (comm->world[i] < 0)
			why_not = "it has a communicator with processes that are not of its MPI_COMM_WORLD";
	}
	hash = comm->inter ? mix_groups(hash, comm) : mix_ranks(hash, comm->world, comm->size);
	if (!comm->together)
		comm->together = (mix(hash, serial_of(hash)) | 1) & ~BOARD_PAIR;
	if (comm->size > 1 || comm->inter)
		add_clock(comm->together);
}

void together_mpi(enum board_mpi state)
{
	if (host->board)
		__atomic_store_n(&board_slot(host->board, (unsigned)host->rank)->mpi, state, __ATOMIC_SEQ_CST);
}

void together_begin(void)
{
	int rank, size;

	if (!host->board)
		return;
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &size);
	own = board_slot(host->board, (unsigned)host->rank);
	together_counts = &own->sent;
	own->nclocks = own->sent = own->received = own->inside = 0;
	together_on = true;
	together_mpi(BOARD_MPI_RUNS);
	if (rank != host->rank || size != (int)host->board->nranks)
		why_not = "its MPI_COMM_WORLD is not the job's";
	if (!comm_at)
		learn_functions();
	inside_ready(own);
	for (uint32_t id = RDB_NULL_ID + 1; id < RDB_FIRST_DYNAMIC; id++) {
		struct vcomm *comm = comm_of(id);

		if ((comm->o.real == BITS(MPI_COMM_WORLD) || comm->o.real == BITS(MPI_COMM_SELF)) && comm->o.id == id)
			together_comm(comm);
	}
}

void together_end(void)
{
	why_not = "it has called MPI_Finalize";
	together_mpi(BOARD_MPI_ENDS);
}

void together_forget(uint64_t id)
{
	struct board_clock *clock = clock_of(id);
	const uint64_t last = own ? own->nclocks : 0;

	if (!clock)
		return;
	*clock = own->clocks[last - 1];
	__atomic_store_n(&own->nclocks, last - 1, __ATOMIC_SEQ_CST);
}

/* ---- the program's calls ---- */

static void count(struct vcomm *comm)
{
	struct board_clock *clock = clock_of(comm->together);

	if (clock)
		__atomic_add_fetch(&clock->count, 1, __ATOMIC_SEQ_CST);
}

uint64_t together_name(const struct vcomm *comm)
{
	uint64_t hash = mix(comm->together, 0x77696e + (together_salt << 32));

	return (mix(hash, serial_of(hash)) | 1) & ~BOARD_PAIR;
}

void together_count(uint64_t id)
{
	struct board_clock *clock;

	add_clock(id);
	clock = clock_of(id);
	if (clock)
		__atomic_add_fetch(&clock->count, 1, __ATOMIC_SEQ_CST);
}

/* A step that these two ranks take together: who is needed for it goes on until it has come. */
static void count_pair(uint64_t name, bool second, int other)
{
	if (other < 0 || other == host->rank)
		return;
	together_count(board_pair(name, second, (unsigned)(other < host->rank ? other : host->rank),
				  (unsigned)(other < host->rank ? host->rank : other)));
}

/* local_comm, local_leader, peer_comm, remote_leader, tag: the two groups know of each other by their leaders. */
static void count_leaders(const uint64_t *a)
{
	const struct vcomm *peers = comm_of(a[2]);

	if (comm_of(a[0])->rank == (int)a[1])
		count_pair(mix(peers->together, (uint64_t)(int)a[4]), false, comm_world_rank(peers, (int)a[3]));
}

int *together_members(MPI_Group group, int *n)
{
	MPI_Group world;
	int *ranks;

	*n = 0;
	if (PMPI_Group_size(group, n) != MPI_SUCCESS || PMPI_Comm_group(MPI_COMM_WORLD, &world) != MPI_SUCCESS) {
		*n = 0;
		return NULL;
	}
	ranks = malloc(((size_t)*n + 1) * sizeof(*ranks));
	if (!ranks)
		host->fatal("out of memory in the MPI boundary");
	for (int i = 0; i < *n; i++) {
		ranks[i] = MPI_UNDEFINED;
		PMPI_Group_translate_ranks(group, 1, &i, world, &ranks[i]);
		if (ranks[i] == MPI_UNDEFINED)
			ranks[i] = -1;
	}
	PMPI_Group_free(&world);
	return ranks;
}

/* comm, group: not all of the communicator, but all of the group. */
static void count_members(const uint64_t *a)
{
	int n, *ranks = together_members(REAL(MPI_Group, group_of(a[1])->real), &n);

	for (int i = 0; i < n; i++)
		count_pair(comm_of(a[0])->together, true, ranks[i]);
	free(ranks);
}

/* Nobody can tell who is needed there. */
static bool silent(unsigned index)
{
	return index == RDB_Comm_spawn || index == RDB_Comm_spawn_multiple || index == RDB_Comm_accept ||
	       index == RDB_Comm_connect || index == RDB_Comm_join;
}

const uint64_t *together_before(unsigned index, const uint64_t *a, uint64_t *changed)
{
	const uint64_t *given = a;

	host->at_rest(NULL, NULL);
	if (silent(index))
		__atomic_add_fetch(&own->silent, 1, __ATOMIC_SEQ_CST);
	if (comm_at[index]) {
		given = inside_begin(index, a, comm_of(a[comm_at[index] - 1]), changed);
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

void together_after(unsigned index, const uint64_t *a, int64_t result)
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

void together_until(bool (*complete)(void *), void *arg)
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

int together_wait(MPI_Request *real, MPI_Status *status)
{
	struct one one = {.real = real, .status = status};

	together_until(one_done, &one);
	return one.rc;
}

/* ---- being held ---- */

/* Others have not begun a collective that is going on here: what they need to come there, this rank may still have
 * to do, unless it waits itself. */
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
	if (!together_on)
		return true;
	if (!windows_quiet() || !files_quiet())
		return false;
	return waits || (!pending_operations && !(collective_under_way() && ahead()));
}

static uint64_t settle(void)
{
	const struct table *requests = &tables[RDB_REQUEST], *comms = &tables[RDB_COMM];
	uint64_t pending = together_sending;

	if (!together_on)
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

static const char *refuses(void)
{
	if (!together_on)
		return NULL;
	if (why_not)
		return why_not;
	const char *why = files_refuse();

	if (why)
		return why;
	if (tools_begun())
		return "it has begun with MPI_T, whose handles are not there in another process";
	if (requests_have_orphans())
		return "it has freed a request of a receive that goes on";
	for (uint32_t id = RDB_FIRST_DYNAMIC; id < tables[RDB_REQUEST].next; id++) {
		struct vreq *request = request_of(id);

		if (request->o.id == id && request->partitioned)
			return "it has a partitioned request (MPI_Psend_init, MPI_Precv_init)";
		if (request->o.id == id && request->o.real && !request->generalized && !complete(request) &&
		    (request->inflight || (!request->comm && !request->receive)))
			return "it has a request of a file or a window";
	}
	return NULL;
}

static int save(void **bytes, size_t *len)
{
	if (!together_on)
		return 0;
	if (windows_there)
		windows_take(); /* nothing is under way any more: all that others have put is there */
	return state_save(bytes, len);
}

const struct rdb_together together_calls = {
	.may_hold = may_hold,
	.settle = settle,
	.refuses = refuses,
	.save = save,
	.load = state_load,
	.shares = windows_share,
};
