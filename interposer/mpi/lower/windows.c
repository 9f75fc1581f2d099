/* Windows: making and freeing them (MPI-3.1 11.2). */
#include "windows.h"
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include "real.h"
#include "together.h"
#include "window_plan.h"

#define PAGE 4096ul

static int failed(int rc, struct window_part *part)
{
	if (part)
		window_part_free(part);
	return rc;
}

static struct vwin *window_new(MPI_Win real, int flavor, const struct vcomm *comm, void *upper)
{
	struct vwin *win = (struct vwin *)object_new(RDB_WIN, real);

	PMPI_Win_set_errhandler(real, MPI_ERRORS_RETURN);
	win->flavor = flavor;
	win->rank = comm->rank;
	win->comm = MPI_COMM_NULL;
	win->last = &win->first;
	put_handle(upper, RDB_WIN, win->o.id);
	together_window(win, comm);
	return win;
}

void window_release(struct vobject *object)
{
	struct vwin *win = (struct vwin *)object;

	free(win->sizes);
	free(win->offsets);
	free(win->units);
	together_window_gone(win);
}

/* base, size, disp_unit, info, comm, win */
int64_t real_Win_create(const uint64_t *a)
{
	struct vcomm *comm = comm_of(a[4]);
	struct window_part *part = NULL;
	MPI_Aint size = (MPI_Aint)a[1];
	MPI_Win real;
	int rc;

	if (a[0] && size > 0) {
		part = window_part_new((char *)a[0], size, false);
		if (!part)
			return MPI_ERR_NO_MEM;
	}
	rc = BLOCKING(PMPI_Win_create(part ? part->public : NULL, size, (int)a[2], info_of(a[3])->real, comm->o.real,
				      a[5] ? &real : NULL));
	if (rc != MPI_SUCCESS)
		return failed(rc, part);
	struct vwin *win = window_new(real, MPI_WIN_FLAVOR_CREATE, comm, (void *)a[5]);

	if (part) {
		window_placed(real, part->public, "MPI_Win_create");
		window_part_add(part, win);
	}
	return rc;
}

/* What ranks of one machine have may be one block of memory, in which the next one's begins after ours. */
static MPI_Aint even_size(MPI_Aint size)
{
	MPI_Aint alignment = (MPI_Aint)window_alignment();

	return size > 0 ? (size + alignment - 1) & -alignment : size;
}

/* size, disp_unit, info, comm, baseptr, win, and where the stub has mapped memory for the program, and 64 bytes */
int64_t real_Win_allocate(const uint64_t *a)
{
	struct vcomm *comm = comm_of(a[3]);
	MPI_Aint size = (MPI_Aint)a[0];
	char *upper = (char *)a[6], *public = NULL;
	MPI_Win real;
	MPI_Comm dup = MPI_COMM_NULL;
	int rc = BLOCKING(PMPI_Win_allocate(even_size(size), (int)a[1], info_of(a[2])->real, comm->o.real,
					    a[4] ? (void *)&public : NULL, a[5] ? &real : NULL));

	if (rc != MPI_SUCCESS)
		return rc;
	upper += (uintptr_t) public & 63;
	struct window_part *part = size > 0 ? window_part_over(upper, public, size) : NULL;

	if (part)
		window_placed(real, public, "MPI_Win_allocate");
	/* nobody may write there before it holds what ours holds */
	rc = BLOCKING(PMPI_Comm_dup(comm->o.real, &dup));
	if (rc == MPI_SUCCESS)
		rc = BLOCKING(PMPI_Barrier(dup));
	if (rc != MPI_SUCCESS)
		host->fatal("MPI_Win_allocate: error %d of the MPI library", rc);
	struct vwin *win = window_new(real, MPI_WIN_FLAVOR_ALLOCATE, comm, (void *)a[5]);

	win->comm = dup;
	if (part)
		window_part_add(part, win);
	put((void *)a[4], &upper, sizeof(upper));
	return rc;
}

/* info, comm, win */
int64_t real_Win_create_dynamic(const uint64_t *a)
{
	struct vcomm *comm = comm_of(a[1]);
	MPI_Win real;
	int rc = BLOCKING(PMPI_Win_create_dynamic(info_of(a[0])->real, comm->o.real, a[2] ? &real : NULL));

	if (rc == MPI_SUCCESS)
		window_new(real, MPI_WIN_FLAVOR_DYNAMIC, comm, (void *)a[2]);
	return rc;
}

/* win, base, size */
int64_t real_Win_attach(const uint64_t *a)
{
	struct vwin *win = win_of(a[0]);
	MPI_Aint size = (MPI_Aint)a[2];
	struct window_part *part = NULL;
	int rc;

	if (win->flavor == MPI_WIN_FLAVOR_DYNAMIC && a[1] && size > 0) {
		part = window_part_new((char *)a[1], size, true);
		if (!part)
			return MPI_ERR_RMA_ATTACH;
	}
	rc = PMPI_Win_attach(win->o.real, part ? part->public : (void *)a[1], size);
	if (rc != MPI_SUCCESS)
		return failed(rc, part);
	if (part)
		window_part_add(part, win);
	return rc;
}

/* win, base */
int64_t real_Win_detach(const uint64_t *a)
{
	struct vwin *win = win_of(a[0]);
	int rc = PMPI_Win_detach(win->o.real, (char *)a[1] + WINDOW_SHIFT);
	struct window_part *part;

	if (rc != MPI_SUCCESS)
		return rc;
	windows_take();
	part = window_part_remove(win, (char *)a[1], false);
	if (part)
		window_part_free(part);
	return rc;
}

/* ---- shared windows ---- */

/* Between the two steps of MPI_Win_allocate_shared. */
struct shared_plan {
	struct shared_plan *next;
	struct window_plan told;
	MPI_Aint *sizes, *offsets;
	int *units;
};
static struct shared_plan *plans;
static uint64_t plans_made;

/* The first rank makes the file: its name is gone when all have mapped it. */
static int make_file(struct window_plan *told)
{
	int fd, rc = MPI_SUCCESS;

	snprintf(told->path, sizeof(told->path), "/dev/shm/rdb-window-%d-%lu", (int)getpid(),
		 (unsigned long)plans_made);
	fd = open(told->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return MPI_ERR_NO_MEM;
	if (posix_fallocate(fd, 0, (off_t)told->bytes))
		rc = MPI_ERR_NO_MEM;
	close(fd);
	if (rc != MPI_SUCCESS)
		unlink(told->path);
	return rc;
}

static int64_t shared_plan(const uint64_t *a, struct window_plan *upper)
{
	struct vcomm *comm = comm_of(a[3]);
	int n = comm->size, rc, made = MPI_SUCCESS;
	struct {
		MPI_Aint size;
		long unit;
	} mine = {(MPI_Aint)a[0], (int)a[1]}, *all = calloc(n > 0 ? n : 1, sizeof(*all));
	struct shared_plan *plan = calloc(1, sizeof(*plan));

	if (!all || !plan)
		host->fatal("out of memory in the MPI boundary");
	rc = BLOCKING(PMPI_Allgather(&mine, sizeof(mine), MPI_BYTE, all, sizeof(mine), MPI_BYTE, comm->o.real));
	for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
		if (all[i].size < 0)
			rc = MPI_ERR_SIZE;
		else if (all[i].unit <= 0)
			rc = MPI_ERR_DISP;
	}
	if (rc != MPI_SUCCESS) {
		free(all);
		free(plan);
		return rc;
	}
	plan->sizes = calloc(n, sizeof(*plan->sizes));
	plan->offsets = calloc(n, sizeof(*plan->offsets));
	plan->units = calloc(n, sizeof(*plan->units));
	if (!plan->sizes || !plan->offsets || !plan->units)
		host->fatal("out of memory in the MPI boundary");
	for (int i = 0; i < n; i++) {
		plan->sizes[i] = all[i].size;
		plan->offsets[i] = (MPI_Aint)plan->told.bytes;
		plan->units[i] = (int)all[i].unit;
		plan->told.bytes += (uint64_t)all[i].size; /* consecutive, as without the info key that allows gaps */
	}
	free(all);
	plan->told.bytes = (plan->told.bytes + PAGE) & ~(PAGE - 1);
	plan->told.offset = (uint64_t)plan->offsets[comm->rank];
	plan->told.id = ++plans_made;
	if (comm->rank == 0)
		made = make_file(&plan->told);
	if (made != MPI_SUCCESS)
		plan->told.path[0] = 0;
	BLOCKING(PMPI_Bcast(plan->told.path, sizeof(plan->told.path), MPI_CHAR, 0, comm->o.real));
	plan->next = plans;
	plans = plan;
	put(upper, &plan->told, sizeof(plan->told));
	return MPI_SUCCESS;
}

static struct shared_plan *plan_take(uint64_t id)
{
	struct shared_plan **link = &plans, *plan;

	while ((plan = *link) && plan->told.id != id)
		link = &plan->next;
	if (!plan)
		host->fatal("the stub and the MPI plug-in differ about a shared window");
	*link = plan->next;
	return plan;
}

/* Whether all parts of the shared memory, which begins with a page, are where the MPI library leaves a window. */
static bool all_even(const struct shared_plan *plan, int ranks)
{
	bool even = true;

	for (int i = 0; i < ranks; i++)
		even &= !plan->sizes[i] || !((size_t)plan->offsets[i] & (window_alignment() - 1));
	return even;
}

/* The real window over our part of the shared memory.  Where the MPI library can make windows of memory of its own only
 * (Open MPI with threads and no network), or would move this one, ours has a public copy, like any other window's. */
static int shared_real(const uint64_t *a, const struct vcomm *comm, bool even, char *mine, MPI_Win *real, MPI_Comm *dup,
		       struct window_part **part)
{
	MPI_Aint size = (MPI_Aint)a[0];
	MPI_Info info = info_of(a[2])->real;
	char *public = NULL;
	int rc = MPI_ERR_OTHER;

	if (even)
		rc = BLOCKING(PMPI_Win_create(mine, size, (int)a[1], info, comm->o.real, real));
	if (rc == MPI_SUCCESS && size > 0)
		window_placed(*real, mine, "MPI_Win_allocate_shared");
	if (rc == MPI_SUCCESS)
		return rc;
	rc = BLOCKING(PMPI_Win_allocate(even_size(size), (int)a[1], info, comm->o.real, &public, real));
	if (rc != MPI_SUCCESS)
		return rc;
	if (size > 0) {
		window_placed(*real, public, "MPI_Win_allocate_shared");
		*part = window_part_over(mine, public, size);
	}
	rc = BLOCKING(PMPI_Comm_dup(comm->o.real, dup));
	return rc == MPI_SUCCESS ? BLOCKING(PMPI_Barrier(*dup)) : rc;
}

/* size, disp_unit, info, comm, baseptr, win, plan, and in the second step where all of it is mapped */
int64_t real_Win_allocate_shared(const uint64_t *a)
{
	struct window_plan *upper = (void *)a[6];
	struct vcomm *comm = comm_of(a[3]);
	struct shared_plan *plan;
	char *at = (char *)a[7], *mine;
	int ok = at != NULL, all = 0, rc;
	struct window_part *part = NULL;
	MPI_Comm dup = MPI_COMM_NULL;
	MPI_Win real;

	if (!comm->o.real || !a[4] || !a[5])
		return comm->o.real ? MPI_ERR_ARG : MPI_ERR_COMM;
	if (!upper->id)
		return shared_plan(a, upper);
	plan = plan_take(upper->id);
	mine = at + plan->told.offset;
	rc = BLOCKING(PMPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_LAND, comm->o.real));
	if (comm->rank == 0 && plan->told.path[0])
		unlink(plan->told.path);
	if (rc == MPI_SUCCESS && !all)
		rc = MPI_ERR_RMA_SHARED; /* not all of them on one machine */
	if (rc == MPI_SUCCESS)
		rc = shared_real(a, comm, all_even(plan, comm->size), mine, &real, &dup, &part);
	if (rc != MPI_SUCCESS) {
		free(plan->sizes);
		free(plan->offsets);
		free(plan->units);
		free(plan);
		return rc;
	}
	struct vwin *win = window_new(real, MPI_WIN_FLAVOR_SHARED, comm, (void *)a[5]);

	win->ranks = comm->size;
	win->shared = at;
	win->sizes = plan->sizes;
	win->offsets = plan->offsets;
	win->units = plan->units;
	free(plan);
	win->comm = dup;
	if (part)
		window_part_add(part, win);
	put((void *)a[4], &mine, sizeof(mine));
	return rc;
}

/* win, rank, size, disp_unit, baseptr */
int64_t real_Win_shared_query(const uint64_t *a)
{
	const struct vwin *win = win_of(a[0]);
	int rank = (int)a[1];
	char *base;

	if (!win->o.real)
		return MPI_ERR_WIN;
	if (win->flavor != MPI_WIN_FLAVOR_SHARED)
		return MPI_ERR_RMA_FLAVOR;
	if (rank == MPI_PROC_NULL) { /* the lowest that has any memory */
		rank = 0;
		while (rank < win->ranks - 1 && !win->sizes[rank])
			rank++;
	}
	if (rank < 0 || rank >= win->ranks)
		return MPI_ERR_RANK;
	base = win->shared + win->offsets[rank];
	put((void *)a[2], &win->sizes[rank], sizeof(win->sizes[rank]));
	put((void *)a[3], &win->units[rank], sizeof(win->units[rank]));
	put((void *)a[4], &base, sizeof(base));
	return MPI_SUCCESS;
}

/* ---- the end ---- */

/* win */
int64_t real_Win_free(const uint64_t *a)
{
	void **upper = (void **)a[0];
	struct vwin *win = win_of(upper ? rdb_id(RDB_WIN, *upper) : 0);
	MPI_Win real = win->o.real;
	struct window_part *part;
	int rc = MPI_SUCCESS;

	/* memory of the real MPI's own goes with the window: what others have put there comes first */
	if (win->comm && win->comm != MPI_COMM_NULL)
		rc = BLOCKING(PMPI_Barrier(win->comm));
	windows_take();
	while (win->comm && win->comm != MPI_COMM_NULL && (part = window_part_remove(win, NULL, true)))
		window_part_free(part);
	if (rc == MPI_SUCCESS)
		rc = BLOCKING(PMPI_Win_free(upper ? &real : NULL));
	if (rc != MPI_SUCCESS)
		return rc;
	windows_take();
	window_landed(win, WINDOW_ALL_TARGETS);
	while ((part = window_part_remove(win, NULL, true)))
		window_part_free(part);
	if (win->comm != MPI_COMM_NULL)
		PMPI_Comm_free(&win->comm);
	host->note(RDB_NOTE_FREED, &win->o.id, sizeof(win->o.id));
	object_drop(&win->o);
	put_handle(upper, RDB_WIN, RDB_NULL_ID);
	return rc;
}
