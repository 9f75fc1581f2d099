/* Windows in a checkpoint: their properties and open epochs.  Their memory is in the image. */
#include "lower/checkpoint/coordinated_state.h"
#include "lower/windows/windows.h"

enum { CREATED, ALLOCATED, DYNAMIC, SHARED };

static int by_name(const void *a, const void *b)
{
	const struct vwin *x = *(struct vwin *const *)a, *y = *(struct vwin *const *)b;

	return x->epochs.name < y->epochs.name ? -1 : x->epochs.name > y->epochs.name;
}

static void put_window(struct bytes *out, const struct vwin *win)
{
	const struct epochs *e = &win->epochs;
	const struct window_part *part = window_part_next(win, NULL);
	char name[MPI_MAX_OBJECT_NAME] = "";
	int *unit = NULL, flag = 0, len;
	MPI_Win real = REAL(MPI_Win, win->o.real);

	PMPI_Win_get_attr(real, MPI_WIN_DISP_UNIT, &unit, &flag);
	PMPI_Win_get_name(real, name, &len);
	put_number(out, win->o.id);
	put_number(out, (int64_t)e->name);
	put_ints(out, e->world, e->size);
	put_bytes(out, e->locks, (size_t)e->size);
	put_number(out, e->fenced);
	put_number(out, e->locked);
	put_number(out, e->closed);
	put_text(out, name);
	put_number(out, win->flavor == MPI_WIN_FLAVOR_ALLOCATE  ? ALLOCATED
			: win->flavor == MPI_WIN_FLAVOR_DYNAMIC ? DYNAMIC
			: win->flavor == MPI_WIN_FLAVOR_SHARED  ? SHARED
								: CREATED);
	put_number(out, flag ? *unit : 1);
	if (win->flavor == MPI_WIN_FLAVOR_SHARED) {
		put_shared(out, win);
		return;
	}
	for (; part; part = window_part_next(win, part)) {
		put_number(out, (int64_t)part->upper);
		put_number(out, (int64_t)part->len);
	}
	put_number(out, 0);
}

void put_windows(struct bytes *out)
{
	struct vwin *win, **all = needed(calloc(tables[RDB_WIN].next + 1, sizeof(struct vwin *)));
	int64_t n = 0;

	EACH(RDB_WIN, win)
	all[n++] = win;
	qsort(all, (size_t)n, sizeof(struct vwin *), by_name);
	put_number(out, n);
	for (int64_t i = 0; i < n; i++)
		put_window(out, all[i]);
	free(all);
}

/* Makes a window over the program's memory, whichever call made it before. */
static MPI_Win make(struct bytes *in, int unit, MPI_Comm comm, struct window_part **part)
{
	char *upper = (char *)get_number(in);
	size_t len = upper ? (size_t)get_number(in) : 0;
	MPI_Win real = MPI_WIN_NULL;

	*part = upper && len && !in->bad ? window_part_new(upper, len, false) : NULL;
	in->bad |= upper && (!*part || get_number(in)); /* exactly one part */
	if (!in->bad)
		in->bad = PMPI_Win_create(*part ? (*part)->public : NULL, (MPI_Aint)len, unit, MPI_INFO_NULL, comm,
					  &real) != MPI_SUCCESS;
	if (!in->bad && *part)
		window_placed(real, (*part)->public, "MPI_Win_create");
	return real;
}

static void attach(struct bytes *in, struct vwin *win)
{
	char *upper;

	while (!in->bad && (upper = (char *)get_number(in))) {
		size_t len = (size_t)get_number(in);
		struct window_part *part = in->bad ? NULL : window_part_new(upper, len, true);

		if (part)
			window_part_add(part, win);
		in->bad |= !part ||
			   PMPI_Win_attach(REAL(MPI_Win, win->o.real), part->public, (MPI_Aint)len) != MPI_SUCCESS;
	}
}

static void get_window(struct bytes *in)
{
	uint32_t id = (uint32_t)get_number(in);
	struct epochs e = {.name = (uint64_t)get_number(in), .posted = MPI_GROUP_NULL, .accessed = MPI_GROUP_NULL};
	const char *ranks = in->at;
	MPI_Group group = get_group(in);
	struct bytes again = {.at = ranks, .end = in->end};
	int64_t size = 0;
	MPI_Comm comm = MPI_COMM_NULL;
	struct window_part *part = NULL;
	struct vwin shared = {.comm = MPI_COMM_NULL};
	char name[MPI_MAX_OBJECT_NAME];
	MPI_Win real = MPI_WIN_NULL;

	e.world = get_ints(&again, &size);
	e.size = (int)size;
	e.locks = room_for(in, size, 1);
	const void *locks = get_bytes(in, (size_t)size);
	e.fenced = get_number(in);
	e.locked = get_number(in);
	e.closed = get_number(in);
	windows_any_closed |= e.closed;
	get_text(in, name, sizeof(name));
	if (in->bad)
		return;
	memcpy(e.locks, locks, (size_t)size);
	in->bad = PMPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &comm) != MPI_SUCCESS;
	PMPI_Group_free(&group);
	if (in->bad)
		return;
	int flavor = (int)get_number(in), unit = (int)get_number(in);

	if (flavor == DYNAMIC)
		in->bad |= PMPI_Win_create_dynamic(MPI_INFO_NULL, comm, &real) != MPI_SUCCESS;
	else if (flavor == SHARED)
		real = get_shared(in, comm, e.size, &shared, &part);
	else
		real = make(in, unit, comm, &part);
	if (in->bad)
		return;
	PMPI_Win_set_errhandler(real, MPI_ERRORS_RETURN);
	if (*name)
		PMPI_Win_set_name(real, name);
	struct vwin *win = (struct vwin *)object_at(RDB_WIN, id, BITS(real));

	win->flavor = flavor == ALLOCATED ? MPI_WIN_FLAVOR_ALLOCATE
		      : flavor == DYNAMIC ? MPI_WIN_FLAVOR_DYNAMIC
		      : flavor == SHARED  ? MPI_WIN_FLAVOR_SHARED
					  : MPI_WIN_FLAVOR_CREATE;
	PMPI_Comm_rank(comm, &win->rank);
	win->comm = shared.comm;
	win->ranks = shared.ranks;
	win->shared = shared.shared;
	win->shared_bytes = shared.shared_bytes;
	win->sizes = shared.sizes;
	win->offsets = shared.offsets;
	win->units = shared.units;
	win->last = &win->first;
	e.comm = comm;
	win->epochs = e;
	if (part)
		window_part_add(part, win);
	if (flavor == DYNAMIC)
		attach(in, win);
}

static int begin_again(struct vwin *win)
{
	const struct epochs *e = &win->epochs;
	MPI_Win real = REAL(MPI_Win, win->o.real);
	int rc = e->fenced ? PMPI_Win_fence(0, real) : MPI_SUCCESS;

	if (e->locked && rc == MPI_SUCCESS)
		rc = PMPI_Win_lock_all(0, real);
	for (int i = 0; i < e->size && rc == MPI_SUCCESS; i++) {
		if (e->locks[i]) /* there are no exclusive locks at a checkpoint */
			rc = PMPI_Win_lock(MPI_LOCK_SHARED, i, 0, real);
	}
	return rc;
}

void get_windows(struct bytes *in)
{
	struct vwin *win, **all;
	int64_t n = get_number(in), made = 0;

	for (int64_t i = 0; i < n && !in->bad; i++)
		get_window(in);
	/* all ranks must have made the windows before one asks for a lock */
	if (!in->bad)
		in->bad = PMPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS;
	if (in->bad || !n)
		return;
	all = needed(calloc((size_t)n, sizeof(struct vwin *)));
	EACH(RDB_WIN, win)
	all[made++] = win;
	qsort(all, (size_t)made, sizeof(struct vwin *), by_name);
	for (int64_t i = 0; i < made && !in->bad; i++)
		in->bad = begin_again(all[i]) != MPI_SUCCESS;
	free(all);
}
