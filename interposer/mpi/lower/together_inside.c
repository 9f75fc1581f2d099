/* Blocking collectives in which a rank may be held although others have not begun them.
 *
 * While it waits in one, the real MPI asks for news of the network again and again, and calls us then: in the middle of
 * its own functions, but where it would call others of itself.  Nobody has got anything from a collective that no rank
 * has left, what it is given stays as it is, and what it has written so far will be written again: so a restart
 * makes the call once more.  Which one it is stands on the board (`inside`), where it does not count as begun; a rank
 * that has left it (the root of a broadcast may, early) counts, and then all others go on to its end.
 *
 * The price in a run without checkpoints: two stores, and with MPI_IN_PLACE, whose input is written over, a copy of a small
 * buffer.  Nobody is held in one with a large one, with an operation of the program's own, or where windows are. */
#include <dlfcn.h>
#include <sched.h>
#include "together.h"
#include "together_files.h"
#include "windows.h"

enum { IN_PLACE = 1 /* as programs have it: translate.c */, SMALL = 4096, TURNS = 64 };

static struct board_slot *own;
static bool able;    /* the real MPI is known to call us while it waits; and one thread at a time calls it */
static bool looking; /* it is being held, or just about to be */
static struct {
	bool may;       /* be held in it */
	uint8_t op;     /* 1 + which argument is the operation */
	bool in_buffer; /* sendbuf, recvbuf, count, datatype, and MPI_IN_PLACE stands for the first */
	bool in_place;  /* it may */
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

	functions = calloc(real_function_count, sizeof(*functions));
	if (!functions)
		host->fatal("out of memory in the MPI boundary");
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

/* One that this rank is in has been left by another: it is to go on to the end, too. */
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

static void look(void)
{
	struct board *board = host->board;
	const uint64_t wanted = board_wanted(board);

	if (!wanted || looking || board_verdict(board, wanted) != BOARD_OPEN || left(NULL))
		return;
	looking = true;
	bool held = host->hold(true);

	host->at_rest(left, NULL);
	host->hold(held);
	looking = false;
}

#ifdef OPEN_MPI

/* opal/runtime/opal_progress.h: called in each eighth turn of who waits for anything. */
static int turn(void)
{
	if (own && own->inside)
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

static bool met;

/* Where ranks outnumber processors, who waits would use up its slice before whom it waits for gets to run: Open MPI yields
 * there by itself, MPICH does not.  MPI_LOCALNRANKS is Hydra's. */
static bool crowded(void)
{
	static int known = -1;
	const char *ranks = known < 0 ? getenv("MPI_LOCALNRANKS") : NULL;
	cpu_set_t set;

	if (known < 0)
		known = ranks && !sched_getaffinity(0, sizeof(set), &set) && atoi(ranks) > CPU_COUNT(&set);
	return known;
}

/* What MPICH calls of UCX in each turn of who waits for anything; UCX is not in the middle of anything then. */
__attribute__((visibility("default"))) unsigned ucp_worker_progress(void *worker)
{
	static unsigned (*real)(void *), turns;

	if (!real)
		real = dlsym(RTLD_NEXT, "ucp_worker_progress");
	met = true;
	if (crowded() && ++turns % TURNS == 0)
		sched_yield();
	if (own && own->inside)
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
	able = called() && level != MPI_THREAD_MULTIPLE;
}

/* What the call adds up to would be written over what it is given. */
static const uint64_t *apart_from(const uint64_t *a, uint64_t *changed)
{
	const struct vtype *type = type_of(a[3]);
	const int64_t count = (int64_t)a[2], bytes = count * type->extent;

	if (!type->dense || type->true_lb || count < 0 || type->extent < 0 || count > SMALL || bytes > SMALL)
		return NULL;
	copied_from = (void *)a[1];
	copied = (size_t)bytes;
	memcpy(copy, copied_from, copied);
	memcpy(changed, a, INSIDE_ARGUMENTS * sizeof(*a));
	changed[1] = (uint64_t)copy;
	return changed;
}

const uint64_t *inside_begin(unsigned index, const uint64_t *a, const struct vcomm *comm, uint64_t *changed)
{
	const uint64_t *given = a;

	if (!able || !functions[index].may || comm->inter || comm->size < 2 || windows_there || pending_operations)
		return a;
	if (functions[index].op && a[functions[index].op - 1] >= RDB_FIRST_DYNAMIC)
		return a;
	if (a[0] == IN_PLACE && functions[index].in_place)
		return a;
	if (a[0] == IN_PLACE && functions[index].in_buffer && !(given = apart_from(a, changed)))
		return a;
	__atomic_store_n(&own->inside, comm->together, __ATOMIC_RELEASE);
	return given;
}

void inside_end(int64_t result)
{
	if (!able || !own->inside)
		return;
	__atomic_store_n(&own->inside, 0, __ATOMIC_RELEASE);
	if (copied && !result)
		memcpy(copied_from, copy, copied);
	copied = 0;
}
