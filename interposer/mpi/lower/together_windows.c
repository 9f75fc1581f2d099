/* Windows at a checkpoint that all ranks take together.  Operations are complete there: in an epoch of locks they are
 * flushed; a rank that has begun any after a fence, or between MPI_Win_start and MPI_Win_complete, or holds an
 * exclusive lock, goes on until that is over.  Fences are counted as collectives are; posts and starts are counted for
 * the two ranks that they concern (board_pair), so who is needed by another goes on until it has come. */
#include "together.h"
#include "windows.h"

enum { EXCLUSIVE = 1, NOSUCCEED = 16 /* as programs have them */ };

bool windows_any_closed;

#define EACH_WINDOW(win) \
	for (uint32_t id_ = RDB_FIRST_DYNAMIC; id_ < tables[RDB_WIN].next; id_++) \
		if ((win = win_of(id_))->o.id == id_)

void together_window(struct vwin *win, const struct vcomm *comm)
{
	struct epochs *e = &win->epochs;

	e->posted = e->accessed = MPI_GROUP_NULL;
	e->comm = MPI_COMM_NULL;
	if (!together_on)
		return;
	e->size = comm->size;
	e->world = calloc((size_t)comm->size + 1, sizeof(int));
	e->locks = calloc((size_t)comm->size + 1, 1);
	if (!e->world || !e->locks)
		host->fatal("out of memory in the MPI boundary");
	memcpy(e->world, comm->world, (size_t)comm->size * sizeof(int));
	e->name = together_name(comm);
}

void together_window_gone(struct vwin *win)
{
	struct epochs *e = &win->epochs;

	free(e->world);
	free(e->locks);
	if (together_on && e->posted != MPI_GROUP_NULL)
		PMPI_Group_free(&e->posted);
	if (together_on && e->accessed != MPI_GROUP_NULL)
		PMPI_Group_free(&e->accessed);
	if (together_on && e->comm != MPI_COMM_NULL)
		PMPI_Comm_free(&e->comm);
}

/* ---- counting ---- */

/* A post of ours for each origin, or a start at each target; `to_us`: what these have done for us. */
static void count_group(const struct epochs *e, MPI_Group group, bool second, bool to_us)
{
	int n, *ranks = together_members(group, &n);

	for (int i = 0; i < n; i++) {
		if (ranks[i] >= 0 && ranks[i] != host->rank)
			together_count(board_pair(e->name, second, (unsigned)(to_us ? ranks[i] : host->rank),
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
	case RDB_Win_fence: together_count(win_of(a[1])->epochs.name); break;
	case RDB_Win_free:
		if (a[0])
			together_count(win_of(rdb_id(RDB_WIN, *(void **)a[0]))->epochs.name);
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

/* The program may not have asked yet whether those to whom it is exposed have come and gone. */
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

/* Others have what we have put, and we what we have asked for. */
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
		window_landed(win, WINDOW_ALL_TARGETS);
		e->issued = false;
	}
}
