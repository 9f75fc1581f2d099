/* Making and freeing windows (MPI-3.1, 11.2). */
#include "lower/windows/windows.h"
#include "lower/objects/real.h"
#include "lower/objects/observer.h"

static int failed(int rc, struct window_part *part)
{
	if (part)
		window_part_free(part);
	return rc;
}

struct vwin *window_new(MPI_Win real, int flavor, const struct vcomm *comm, void *upper)
{
	struct vwin *win = (struct vwin *)object_new(RDB_WIN, real);

	PMPI_Win_set_errhandler(real, MPI_ERRORS_RETURN);
	win->flavor = flavor;
	win->rank = comm->rank;
	win->comm = MPI_COMM_NULL;
	win->last = &win->first;
	put_handle(upper, RDB_WIN, win->o.id);
	win->epochs.posted = win->epochs.accessed = MPI_GROUP_NULL;
	win->epochs.comm = MPI_COMM_NULL;
	if (observer)
		observer->window_made(win, comm);
	return win;
}

void window_release(struct vobject *object)
{
	struct vwin *win = (struct vwin *)object;

	free(win->sizes);
	free(win->offsets);
	free(win->units);
	if (observer)
		observer->window_gone(win);
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

MPI_Aint even_size(MPI_Aint size)
{
	MPI_Aint alignment = (MPI_Aint)window_alignment();

	return size > 0 ? (size + alignment - 1) & -alignment : size;
}

/* size, disp_unit, info, comm, baseptr, win, address of memory that the stub has mapped for the program (64 bytes more
 * than size) */
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
	/* other ranks may write to the public copy only after it was initialised */
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

/* ---- the end ---- */

/* win */
int64_t real_Win_free(const uint64_t *a)
{
	void **upper = (void **)a[0];
	struct vwin *win = win_of(upper ? rdb_id(RDB_WIN, *upper) : 0);
	MPI_Win real = win->o.real;
	struct window_part *part;
	int rc = MPI_SUCCESS;

	/* a public copy made by the real MPI is freed with the window: take its data before */
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
	window_landed(win, WINDOW_ALL_TARGETS, win->reads);
	while ((part = window_part_remove(win, NULL, true)))
		window_part_free(part);
	if (win->comm != MPI_COMM_NULL)
		PMPI_Comm_free(&win->comm);
	host->note(RDB_NOTE_FREED, &win->o.id, sizeof(win->o.id));
	object_drop(&win->o);
	put_handle(upper, RDB_WIN, RDB_NULL_ID);
	return rc;
}
