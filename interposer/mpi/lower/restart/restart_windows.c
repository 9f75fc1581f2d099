/* Windows on the way to the cut: they are made again, without epochs, and other ranks see their memory only at the cut.
 * At a cut no operation is under way (rdb/live/cut/windows.py); open epochs without operations begin again. */
#include "lower/windows/windows.h"
#include "lower/restart/restart.h"
#include "window_plan.h"

#define CANONICAL_NOSUCCEED 16 /* MPI_MODE_NOSUCCEED */

/* In the order of creation, which is the same in all ranks. */
struct open_window *restart_windows;
static struct open_window **last = &restart_windows;

static struct open_window **find(uint32_t id)
{
	struct open_window **at = &restart_windows;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

static struct open_window *made(uint32_t id)
{
	struct open_window *one = needed(calloc(1, sizeof(*one)));

	one->id = id;
	*last = one;
	last = &one->next;
	return one;
}

static void gone(uint32_t id)
{
	struct open_window **at = find(id), *one = *at;

	if (!one)
		return;
	*at = one->next;
	if (!*at)
		last = at;
	free(one);
}

/* Makes a window over the memory that the log says. */
static const char *allocated(const uint64_t *a)
{
	void *handle = NULL;
	const uint64_t args[] = {*(uint64_t *)a[4], a[0], a[1], a[2], a[3], (uint64_t)&handle};
	int64_t result;

	restart_journal_asked(RDB_Win_create, 6, args);
	result = restart_silent_call(RDB_Win_create, 6, args);
	uint32_t id = rdb_id(RDB_WIN, handle);

	if ((int)result || !id)
		return restart_refuse("MPI_Win_allocate", "its window cannot be made again");
	((struct vwin *)object_of(RDB_WIN, id))->flavor = MPI_WIN_FLAVOR_ALLOCATE;
	object_move(object_of(RDB_WIN, id), rdb_id(RDB_WIN, *(void **)a[5]));
	handle = *(void **)a[5];
	restart_journal_answered();
	return NULL;
}

/* Its memory is mapped privately until the cut, like all memory of a replay.  Two calls make such a window: the first
 * tells the stub how much to map (a[7] is 0). */
static const char *shared(const uint64_t *a)
{
	const struct window_plan *plan = (void *)a[6];
	const char *why = a[7] ? allocated(a) : NULL;

	if (why || !a[7])
		return why;
	struct open_window *one = made(rdb_id(RDB_WIN, *(void **)a[5]));

	one->shared = (char *)a[7];
	one->shared_bytes = plan->bytes;
	one->offset = plan->offset;
	/* a copy: the program may free the communicator */
	if (PMPI_Comm_dup(REAL(MPI_Comm, comm_of(a[3])->o.real), &one->comm) != MPI_SUCCESS)
		return restart_refuse("MPI_Win_allocate_shared", "its window cannot be made again");
	return NULL;
}

const char *restart_window_asked(unsigned index, const uint64_t *a)
{
	windows_asleep = true;
	if (index == RDB_Win_free && a[0])
		gone(rdb_id(RDB_WIN, *(void **)a[0]));
	return NULL;
}

/* Makes a communicator of the window's ranks: the program may have freed the one that it was made on. */
static const char *share_again(struct open_window *one, const struct open_window *saved)
{
	MPI_Group ranks = MPI_GROUP_NULL;
	int rc = PMPI_Win_get_group(REAL(MPI_Win, win_of(one->id)->o.real), &ranks);

	one->shared = saved->shared;
	one->shared_bytes = saved->shared_bytes;
	one->offset = saved->offset;
	if (rc == MPI_SUCCESS)
		rc = PMPI_Comm_create_group(MPI_COMM_WORLD, ranks, 0, &one->comm);
	if (ranks != MPI_GROUP_NULL)
		PMPI_Group_free(&ranks);
	return rc == MPI_SUCCESS ? NULL : restart_refuse("MPI_Win_allocate_shared", "its window cannot be made again");
}

bool restart_window_load(FILE *file, const char **why)
{
	struct open_window saved, *one;

	if (fread(&saved, sizeof(saved), 1, file) != 1)
		return false;
	one = *find(saved.id);
	if (one) {
		if (saved.shared)
			*why = share_again(one, &saved);
		one->fenced = saved.fenced;
		one->all_locked = saved.all_locked;
	}
	return one != NULL;
}

const char *restart_window_answered(unsigned index, uint32_t nargs __attribute__((unused)), const uint64_t *a)
{
	struct open_window *one;
	const char *why = NULL;

	switch (index) {
	case RDB_Win_allocate:
		why = allocated(a);
		made(rdb_id(RDB_WIN, *(void **)a[5]));
		break;
	case RDB_Win_allocate_shared: why = shared(a); break;
	case RDB_Win_create: made(rdb_id(RDB_WIN, *(void **)a[5])); break;
	case RDB_Win_create_dynamic: made(rdb_id(RDB_WIN, *(void **)a[2])); break;
	case RDB_Win_fence:
		one = *find((uint32_t)a[1]);
		if (one)
			one->fenced = !(a[0] & CANONICAL_NOSUCCEED);
		break;
	case RDB_Win_lock_all:
	case RDB_Win_unlock_all:
		one = *find((uint32_t)a[index == RDB_Win_lock_all ? 1 : 0]);
		if (one) {
			one->all_locked = index == RDB_Win_lock_all;
			one->fenced = false;
		}
		break;
	case RDB_Win_lock:
	case RDB_Win_start:
	case RDB_Win_post:
		one = *find((uint32_t)a[index == RDB_Win_lock ? 3 : 2]);
		if (one) /* the last fence did not open an epoch */
			one->fenced = false;
		break;
	}
	return why;
}

const char *restart_windows_cut(void)
{
	int rc, begun = 0;

	PMPI_Initialized(&begun);
	if (!begun)
		return NULL;
	for (struct open_window *one = restart_windows; one; one = one->next) {
		const char *why = one->shared ? restart_shared_cut(one) : NULL;

		if (why)
			return restart_refuse("MPI_Win_allocate_shared", why);
	}
	/* no rank goes on before all have published their memory */
	windows_show();
	rc = PMPI_Barrier(MPI_COMM_WORLD);

	for (struct open_window *one = restart_windows; one && rc == MPI_SUCCESS; one = one->next) {
		MPI_Win real = REAL(MPI_Win, win_of(one->id)->o.real);

		if (one->all_locked)
			rc = PMPI_Win_lock_all(0, real);
		else if (one->fenced)
			rc = PMPI_Win_fence(0, real);
	}
	windows_asleep = false;
	return rc == MPI_SUCCESS ? NULL : restart_refuse("", "an epoch of a window cannot begin again");
}
