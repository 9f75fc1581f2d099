/* Windows at a coordinated checkpoint.  All operations must be complete: in a passive target epoch they are flushed.  A
 * rank is not held after an operation in a fence epoch, between MPI_Win_start and MPI_Win_complete, or while it holds
 * an exclusive lock.  Fences are counted as collectives; posts and starts are counted for the two ranks concerned
 * (board_pair), so a rank that another one waits for is not held before the call. */
#include "lower/checkpoint/coordinated.h"
#include "lower/windows/windows.h"

enum { EXCLUSIVE = 1, NOSUCCEED = 16 /* canonical values */ };

bool windows_any_closed;

#define EACH_WINDOW(win) \
	for (uint32_t id_ = RDB_FIRST_DYNAMIC; id_ < tables[RDB_WIN].next; id_++) \
		if ((win = win_of(id_))->o.id == id_)

void coordinated_window(struct vwin *win, const struct vcomm *comm)
{
	struct epochs *e = &win->epochs;

	e->size = comm->size;
	e->world = needed(calloc((size_t)comm->size + 1, sizeof(int)));
	e->locks = needed(calloc((size_t)comm->size + 1, 1));
	memcpy(e->world, comm->world, (size_t)comm->size * sizeof(int));
	e->name = coordinated_name(comm);
}

void coordinated_window_gone(struct vwin *win)
{
	struct epochs *e = &win->epochs;

	coordinated_forget(e->name);
	free(e->world);
	free(e->locks);
	if (e->posted != MPI_GROUP_NULL)
		PMPI_Group_free(&e->posted);
	if (e->accessed != MPI_GROUP_NULL)
		PMPI_Group_free(&e->accessed);
	if (e->comm != MPI_COMM_NULL)
		PMPI_Comm_free(&e->comm);
}

/* ---- counting ---- */

/* Counts a post for each origin, or a start (second) for each target; to_us: the pair's other direction. */
static void count_group(const struct epochs *e, MPI_Group group, bool second, bool to_us)
{
	int n, *ranks = coordinated_members(group, &n);

	for (int i = 0; i < n; i++) {
		if (ranks[i] >= 0 && ranks[i] != host->rank)
			coordinated_count(board_pair(e->name, second, (unsigned)(to_us ? ranks[i] : host->rank),
						     (unsigned)(to_us ? host->rank : ranks[i])));
	}
	free(ranks);
}

static MPI_Group copy_of(uint64_t id)
{
	MPI_Group copy = MPI_GROUP_NULL;

	PMPI_Group_union(REAL(MPI_Group, group_of(id)->real), MPI_GROUP_EMPTY, &copy);
	return copy;
}

static void drop(MPI_Group *group)
{
	if (*group != MPI_GROUP_NULL)
		PMPI_Group_free(group);
}

void windows_called(unsigned index, const uint64_t *a)
{
	struct epochs *e;

	switch (index) {
	case RDB_Win_fence: coordinated_count(win_of(a[1])->epochs.name); break;
	case RDB_Win_free:
		if (a[0])
			coordinated_count(win_of(rdb_id(RDB_WIN, *(void **)a[0]))->epochs.name);
		break;
	case RDB_Win_start:
		e = &win_of(a[2])->epochs;
		drop(&e->accessed);
		e->accessed = copy_of(a[0]);
		e->started = true;
		count_group(e, e->accessed, true, false);
		break;
	case RDB_Win_post:
		e = &win_of(a[2])->epochs;
		drop(&e->posted);
		e->posted = copy_of(a[0]);
		e->exposed = true;
		count_group(e, e->posted, false, false);
		count_group(e, e->posted, true, true);
		break;
	case RDB_Put:
	case RDB_Rput:
	case RDB_Get:
	case RDB_Rget: win_of(a[7])->epochs.issued = true; break;
	case RDB_Accumulate:
	case RDB_Raccumulate: win_of(a[8])->epochs.issued = true; break;
	case RDB_Get_accumulate:
	case RDB_Rget_accumulate: win_of(a[11])->epochs.issued = true; break;
	case RDB_Fetch_and_op:
	case RDB_Compare_and_swap: win_of(a[6])->epochs.issued = true; break;
	default: break;
	}
}

static bool any_lock(const struct epochs *e, bool exclusive)
{
	for (int i = 0; i < e->size; i++) {
		if (e->locks[i] && (!exclusive || e->locks[i] == EXCLUSIVE))
			return true;
	}
	return false;
}

void windows_answered(unsigned index, const uint64_t *a)
{
	struct epochs *e;

	switch (index) {
	case RDB_Win_fence:
		e = &win_of(a[1])->epochs;
		e->fenced = !(a[0] & NOSUCCEED);
		e->issued = false;
		break;
	case RDB_Win_lock:
		e = &win_of(a[3])->epochs;
		if ((int)a[1] >= 0 && (int)a[1] < e->size)
			e->locks[a[1]] = (uint8_t)a[0];
		break;
	case RDB_Win_unlock:
		e = &win_of(a[1])->epochs;
		if ((int)a[0] >= 0 && (int)a[0] < e->size)
			e->locks[a[0]] = 0;
		e->issued &= any_lock(e, false);
		break;
	case RDB_Win_lock_all: win_of(a[1])->epochs.locked = true; break;
	case RDB_Win_unlock_all:
		e = &win_of(a[0])->epochs;
		e->locked = e->issued = false;
		break;
	case RDB_Win_complete:
		e = &win_of(a[0])->epochs;
		e->started = e->issued = false;
		count_group(e, e->accessed, false, true);
		break;
	case RDB_Win_wait: win_of(a[0])->epochs.exposed = false; break;
	case RDB_Win_test:
		if (*(int *)a[1])
			win_of(a[0])->epochs.exposed = false;
		break;
	default: break;
	}
}

bool windows_closed(unsigned index, const uint64_t *a, int64_t *result)
{
	struct vwin *win;
	int yes = 1;

	if (index != RDB_Win_wait && index != RDB_Win_test)
		return false;
	win = win_of(a[0]);
	if (!win->epochs.closed)
		return false;
	win->epochs.closed = false;
	if (index == RDB_Win_test)
		put((void *)a[1], &yes, sizeof(yes));
	*result = MPI_SUCCESS;
	return true;
}

/* ---- at rest ---- */

/* Whether an exposure epoch is open.  One that the origins have completed is closed here, if the program has not asked
 * yet. */
static bool exposed(struct vwin *win)
{
	struct epochs *e = &win->epochs;
	int flag = 0;

	if (e->exposed && PMPI_Win_test(REAL(MPI_Win, win->o.real), &flag) == MPI_SUCCESS && flag) {
		e->closed = windows_any_closed = true;
		e->exposed = false;
	}
	return e->exposed;
}

bool windows_quiet(void)
{
	struct vwin *win;

	EACH_WINDOW(win)
	{
		const struct epochs *e = &win->epochs;

		if (e->started || any_lock(e, true) || exposed(win))
			return false;
		if (e->issued && !e->locked && !any_lock(e, false))
			return false;
	}
	return true;
}

/* Completes this rank's operations in passive target epochs. */
void windows_complete(void)
{
	struct vwin *win;

	EACH_WINDOW(win)
	{
		struct epochs *e = &win->epochs;

		if (!e->issued || (!e->locked && !any_lock(e, false)))
			continue;
		if (PMPI_Win_flush_all(REAL(MPI_Win, win->o.real)) != MPI_SUCCESS)
			host->fatal("a window cannot be flushed for a checkpoint");
		window_landed(win, WINDOW_ALL_TARGETS, win->reads);
		e->issued = false;
	}
}
