/* One-sided communication (MPI-3.1, 11.3).  Data to send is read from the program's memory, which must not change until
 * the operation is complete; data read from other ranks arrives in lower memory (staged_read.h). */
#include "lower/objects/real.h"
#include "lower/windows/windows.h"

static MPI_Aint place(const struct vwin *win, uint64_t displacement)
{
	return (MPI_Aint)displacement + (win->flavor == MPI_WIN_FLAVOR_DYNAMIC ? WINDOW_SHIFT : 0);
}

static MPI_Op op_real(uint64_t id)
{
	return op_of(id)->real;
}

/* If our own window is the target, publishes the program's stores first. */
static void before(const struct vwin *win, int target)
{
	if (target == win->rank && windows_there)
		windows_before(RDB_Win_sync);
}

static void unlink_first(struct vwin *win, struct staged_read **link)
{
	struct staged_read *flight = *link;

	*link = flight->next;
	if (win->last == &flight->next)
		win->last = link;
	staged_release(flight);
}

void window_landed(struct vwin *win, int target, uint64_t reads)
{
	struct staged_read **link = &win->first, *flight;

	while ((flight = *link)) {
		/* also drops those that were delivered when the program completed their request */
		if (flight->delivered ||
		    (flight->number <= reads && (target == WINDOW_ALL_TARGETS || flight->target == target))) {
			staged_deliver(flight, NULL);
			unlink_first(win, link);
		} else {
			link = &flight->next;
		}
	}
}

/* After the real call: adds the read to the window's list. */
static int begun(int rc, struct vwin *win, int target, struct staged_read *flight)
{
	/* those that were delivered when the program completed their request */
	while (win->first && win->first->delivered)
		unlink_first(win, &win->first);
	flight->target = target;
	flight->number = ++win->reads;
	if (rc == MPI_SUCCESS && target != MPI_PROC_NULL && flight->room) {
		*win->last = staged_hold(flight);
		win->last = &flight->next;
	}
	return rc;
}

static int requested(int rc, MPI_Request real, struct staged_read *flight, uint64_t upper)
{
	struct vreq *request;

	if (rc != MPI_SUCCESS)
		return rc;
	request = request_new(real);
	request->active = true;
	if (flight && flight->target != MPI_PROC_NULL)
		request->staged_read = staged_hold(flight);
	put_handle((void *)upper, RDB_REQUEST, request->o.id);
	return rc;
}

/* origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype, ... */
#define TARGET(i) (int)a[i], place(win, a[i + 1]), (int)a[i + 2], type_of(a[i + 3])->o.real
#define ORIGIN (const void *)a[0], (int)a[1], type_of(a[2])->o.real

/* ..., win */
int64_t real_Put(const uint64_t *a)
{
	struct vwin *win = win_of(a[7]);

	return PMPI_Put(ORIGIN, TARGET(3), win->o.real);
}

/* ..., win, request */
int64_t real_Rput(const uint64_t *a)
{
	struct vwin *win = win_of(a[7]);
	MPI_Request real;
	int rc = PMPI_Rput(ORIGIN, TARGET(3), win->o.real, a[8] ? &real : NULL);

	return requested(rc, real, NULL, a[8]);
}

/* ..., op, win */
int64_t real_Accumulate(const uint64_t *a)
{
	struct vwin *win = win_of(a[8]);

	before(win, (int)a[3]);
	return PMPI_Accumulate(ORIGIN, TARGET(3), op_real(a[7]), win->o.real);
}

/* ..., op, win, request */
int64_t real_Raccumulate(const uint64_t *a)
{
	struct vwin *win = win_of(a[8]);
	MPI_Request real;
	int rc;

	before(win, (int)a[3]);
	rc = PMPI_Raccumulate(ORIGIN, TARGET(3), op_real(a[7]), win->o.real, a[9] ? &real : NULL);
	return requested(rc, real, NULL, a[9]);
}

/* ..., win */
int64_t real_Get(const uint64_t *a)
{
	struct vwin *win = win_of(a[7]);
	struct staged_read *flight = staged_begin((void *)a[0], (int)a[1], type_of(a[2]), false);
	int rc;

	before(win, (int)a[3]);
	rc = PMPI_Get(flight->buffer, (int)a[1], flight->type->o.real, TARGET(3), win->o.real);
	begun(rc, win, (int)a[3], flight);
	staged_release(flight);
	return rc;
}

/* ..., win, request */
int64_t real_Rget(const uint64_t *a)
{
	struct vwin *win = win_of(a[7]);
	struct staged_read *flight = staged_begin((void *)a[0], (int)a[1], type_of(a[2]), false);
	MPI_Request real;
	int rc;

	before(win, (int)a[3]);
	rc = PMPI_Rget(flight->buffer, (int)a[1], flight->type->o.real, TARGET(3), win->o.real, a[8] ? &real : NULL);
	begun(rc, win, (int)a[3], flight);
	requested(rc, real, flight, a[8]);
	staged_release(flight);
	return rc;
}

/* origin_addr, origin_count, origin_datatype, result_addr, result_count, result_datatype, target_rank, target_disp,
 * target_count, target_datatype, op, win */
int64_t real_Get_accumulate(const uint64_t *a)
{
	struct vwin *win = win_of(a[11]);
	struct staged_read *flight = staged_begin((void *)a[3], (int)a[4], type_of(a[5]), false);
	int rc;

	before(win, (int)a[6]);
	rc = PMPI_Get_accumulate(ORIGIN, flight->buffer, (int)a[4], flight->type->o.real, TARGET(6), op_real(a[10]),
				 win->o.real);
	begun(rc, win, (int)a[6], flight);
	staged_release(flight);
	return rc;
}

/* ..., request */
int64_t real_Rget_accumulate(const uint64_t *a)
{
	struct vwin *win = win_of(a[11]);
	struct staged_read *flight = staged_begin((void *)a[3], (int)a[4], type_of(a[5]), false);
	MPI_Request real;
	int rc;

	before(win, (int)a[6]);
	rc = PMPI_Rget_accumulate(ORIGIN, flight->buffer, (int)a[4], flight->type->o.real, TARGET(6), op_real(a[10]),
				  win->o.real, a[12] ? &real : NULL);
	begun(rc, win, (int)a[6], flight);
	requested(rc, real, flight, a[12]);
	staged_release(flight);
	return rc;
}

/* origin_addr, result_addr, datatype, target_rank, target_disp, op, win */
int64_t real_Fetch_and_op(const uint64_t *a)
{
	struct vwin *win = win_of(a[6]);
	struct staged_read *flight = staged_begin((void *)a[1], 1, type_of(a[2]), false);
	int rc;

	before(win, (int)a[3]);
	rc = PMPI_Fetch_and_op((const void *)a[0], flight->buffer, flight->type->o.real, (int)a[3], place(win, a[4]),
			       op_real(a[5]), win->o.real);
	begun(rc, win, (int)a[3], flight);
	staged_release(flight);
	return rc;
}

/* origin_addr, compare_addr, result_addr, datatype, target_rank, target_disp, win */
int64_t real_Compare_and_swap(const uint64_t *a)
{
	struct vwin *win = win_of(a[6]);
	struct staged_read *flight = staged_begin((void *)a[2], 1, type_of(a[3]), false);
	int rc;

	before(win, (int)a[4]);
	rc = PMPI_Compare_and_swap((const void *)a[0], (const void *)a[1], flight->buffer, flight->type->o.real,
				   (int)a[4], place(win, a[5]), win->o.real);
	begun(rc, win, (int)a[4], flight);
	staged_release(flight);
	return rc;
}
