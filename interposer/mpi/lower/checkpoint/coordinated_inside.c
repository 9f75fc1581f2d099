/* Holding a rank inside a blocking collective that other ranks have not begun.
 *
 * While the rank waits, the real MPI's progress loop calls us, at a point where it may call MPI functions.  As long as
 * no rank has left the collective, no rank has a result of it; its input is unchanged, and its output will be written
 * again.  So a restart makes the call again.  The board names the collective (`inside`), which does not count as begun.
 * When a rank leaves it early (for example the root of a broadcast), it is counted, and all others go on to its end.
 *
 * The price in a run without checkpoints: two stores, and for MPI_IN_PLACE, whose input is overwritten, a copy of a
 * small buffer.  A rank is not held in a collective with MPI_IN_PLACE and a large buffer, with an operation of the
 * program, or if there are windows, or once a second thread calls MPI (MPI_THREAD_MULTIPLE). */
#include <dlfcn.h>
#include <sched.h>
#include "lower/checkpoint/coordinated.h"
#include "lower/checkpoint/coordinated_files.h"
#include "lower/windows/windows.h"

enum { IN_PLACE = 1 /* canonical value (translate.c) */, SMALL = 4096, TURNS = 64 };

static struct board_slot *own;
static bool able;                         /* the real MPI calls us while it waits */
static bool alone;                        /* several threads do not call it at a time */
static bool looking;                      /* this rank is being held, or just about to be */
static unsigned callers;                  /* threads that have called MPI */
static __thread bool called_before, here; /* here: in the collective in which this rank may be held */
static struct {
	bool may;       /* the rank may be held in this function */
	uint8_t op;     /* 1 + index of the operation argument; 0: none */
	bool in_buffer; /* arguments are sendbuf, recvbuf, count, datatype; MPI_IN_PLACE is handled by a copy */
	bool in_place;  /* allows MPI_IN_PLACE, which is not handled */
} * functions;
static char copy[SMALL];
static void *copied_from;
static size_t copied;

static const char names[] =
	" Barrier Bcast Allreduce Scan Exscan Reduce_scatter Reduce_scatter_block Reduce Allgather Allgatherv Alltoall"
	" Alltoallv Alltoallw Gather Gatherv Scatter Scatterv ";
static const char reductions[] = " Allreduce Scan Exscan Reduce ";
static const char others_in_place[] = " Reduce_scatter Reduce_scatter_block Allgather Allgatherv Alltoall Alltoallv"
				      " Alltoallw Gather Gatherv ";

static void learn(void)
{
	char word[128];

	functions = needed(calloc(real_function_count, sizeof(*functions)));
	for (unsigned i = 0; i < real_function_count; i++) {
		const char *name = real_functions[i].name, *op;

		if (!name || strncmp(name, "MPI_", 4))
			continue;
		procedure_word(name, word, sizeof(word));
		functions[i].may = strstr(names, word) != NULL;
		functions[i].in_buffer = strstr(reductions, word) != NULL;
		functions[i].in_place = strstr(others_in_place, word) != NULL;
		op = real_functions[i].handles ? strchr(real_functions[i].handles, 'o') : NULL;
		functions[i].op = op ? (uint8_t)(1 + op - real_functions[i].handles) : 0;
	}
}

/* Another rank has left a collective that this rank is in, so this rank must go on to its end, too. */
static bool left(void *arg __attribute__((unused)))
{
	for (unsigned rank = 0; rank < host->board->nranks; rank++) {
		const struct board_slot *s = board_slot(host->board, rank);

		for (uint64_t i = 0; s != own && i < own->nclocks; i++) {
			for (uint64_t k = 0; k < s->nclocks && k < BOARD_COMMS; k++) {
				if (s->clocks[k].id == own->clocks[i].id && board_count(s, k) > board_count(own, i))
					return true;
			}
		}
	}
	return false;
}

static bool one_calls(void)
{
	return alone || __atomic_load_n(&callers, __ATOMIC_SEQ_CST) == 1;
}

void inside_calls(void)
{
	if (!called_before)
		__atomic_add_fetch(&callers, 1, __ATOMIC_SEQ_CST);
	called_before = true;
}

static void look(void)
{
	struct board *board = host->board;
	const uint64_t wanted = board_wanted(board);

	if (!wanted || looking || !one_calls() || board_verdict(board, wanted) != BOARD_OPEN || left(NULL))
		return;
	looking = true;
	bool held = host->hold(true);

	host->at_rest(left, NULL);
	host->hold(held);
	looking = false;
}

#ifdef OPEN_MPI

enum { LOCKED = false }; /* the MPI holds locks of its own while it calls us, with MPI_THREAD_MULTIPLE */

/* opal/runtime/opal_progress.h: a low-priority callback, called in each eighth turn of the progress loop. */
static int turn(void)
{
	if (here)
		look();
	return 0;
}

static bool called(void)
{
	static bool done;
	int (*call)(int (*)(void)) = dlsym(RTLD_DEFAULT, "opal_progress_register_lp");

	if (!done && call)
		done = call(turn) == 0;
	return done;
}

#else

enum { LOCKED = true };
static bool met;

/* More ranks than processors: a waiting rank would use up its time slice while the rank it waits for cannot run.  Open
 * MPI yields in this case, MPICH does not.  Hydra sets MPI_LOCALNRANKS. */
static bool crowded(void)
{
	static int known = -1;
	const char *ranks = known < 0 ? getenv("MPI_LOCALNRANKS") : NULL;
	cpu_set_t set;

	if (known < 0)
		known = ranks && !sched_getaffinity(0, sizeof(set), &set) && atoi(ranks) > CPU_COUNT(&set);
	return known;
}

/* Replaces the function of UCX that MPICH calls in each turn of its progress loop; outside of other UCX functions. */
__attribute__((visibility("default"))) unsigned ucp_worker_progress(void *worker)
{
	static unsigned (*real)(void *), turns;

	if (!real)
		real = dlsym(RTLD_NEXT, "ucp_worker_progress");
	met = true;
	if (crowded() && ++turns % TURNS == 0)
		sched_yield();
	if (here)
		look();
	return real(worker);
}

static bool called(void)
{
	int flag;

	PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	return met;
}

#endif

void inside_ready(struct board_slot *slot)
{
	int level = MPI_THREAD_MULTIPLE;

	if (!functions)
		learn();
	PMPI_Query_thread(&level);
	own = slot;
	alone = level != MPI_THREAD_MULTIPLE;
	able = called() && (alone || !LOCKED);
}

/* Lets the call work on a copy, since its result would overwrite its input.  NULL: too large for a copy. */
static const uint64_t *apart_from(const uint64_t *a, uint32_t nargs, uint64_t *changed)
{
	const struct vtype *type = type_of(a[3]);
	const int64_t count = (int64_t)a[2], bytes = count * type->extent;

	if (!type->dense || type->true_lb || count < 0 || type->extent < 0 || count > SMALL || bytes > SMALL)
		return NULL;
	copied_from = (void *)a[1];
	copied = (size_t)bytes;
	memcpy(copy, copied_from, copied);
	memcpy(changed, a, nargs * sizeof(*a));
	changed[1] = (uint64_t)copy;
	return changed;
}

const uint64_t *inside_begin(unsigned index, uint32_t nargs, const uint64_t *a, const struct vcomm *comm,
			     uint64_t *changed)
{
	const uint64_t *given = a;

	if (!able || !one_calls() || !functions[index].may || comm->inter || comm->size < 2 || windows_there ||
	    pending_operations)
		return a;
	if (functions[index].op && a[functions[index].op - 1] >= RDB_FIRST_DYNAMIC)
		return a;
	if (a[0] == IN_PLACE && functions[index].in_place)
		return a;
	if (a[0] == IN_PLACE && functions[index].in_buffer && !(given = apart_from(a, nargs, changed)))
		return a;
	here = true;
	__atomic_store_n(&own->inside, comm->page_name, __ATOMIC_RELEASE);
	return given;
}

void inside_end(int64_t result)
{
	if (!here)
		return;
	here = false;
	__atomic_store_n(&own->inside, 0, __ATOMIC_RELEASE);
	if (copied && !result)
		memcpy(copied_from, copy, copied);
	copied = 0;
}
