/* Windows in a checkpoint: their memory is in the image; what else they are, and which epochs are open, is here. */
#include "together_bytes.h"
#include "windows.h"

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
	put_number(out, win->flavor == MPI_WIN_FLAVOR_ALLOCATE);
	put_number(out, flag ? *unit : 1);
	put_number(out, part ? (int64_t)part->upper : 0);
	put_number(out, part ? (int64_t)part->len : 0);
	put_number(out, e->fenced);
	put_number(out, e->locked);
	put_number(out, e->closed);
	put_text(out, name);
}

void put_windows(struct bytes *out)
{
	struct vwin *win, **all = calloc(tables[RDB_WIN].next + 1, sizeof(struct vwin *));
	int64_t n = 0;

	if (!all)
		host->fatal("out of memory for a checkpoint");
	EACH(RDB_WIN, win)
	all[n++] = win;
	qsort(all, (size_t)n, sizeof(struct vwin *), by_name);
	put_number(out, n);
	for (int64_t i = 0; i < n; i++)
		put_window(out, all[i]);
	free(all);
}

/* Over what the program's memory holds, whichever call made it before. */
static MPI_Win make(struct bytes *in, char *upper, size_t len, int unit, MPI_Comm comm, struct window_part **part)
{
	MPI_Win real = MPI_WIN_NULL;

	*part = upper && len ? window_part_new(upper, len, false) : NULL;
	in->bad |= upper && len && !*part;
	if (!in->bad)
		in->bad = PMPI_Win_create(*part ? (*part)->public : NULL, (MPI_Aint)len, unit, MPI_INFO_NULL, comm,
					  &real) != MPI_SUCCESS;
	if (!in->bad && *part)
		window_placed(real, (*part)->public, "MPI_Win_create");
	return real;
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
	struct window_part *part;
	char name[MPI_MAX_OBJECT_NAME];

	e.world = get_ints(&again, &size);
	e.size = (int)size;
	e.locks = room_for(in, size, 1);
	const void *locks = get_bytes(in, (size_t)size);
	bool allocated = get_number(in);
	int unit = (int)get_number(in);
	char *upper = (char *)get_number(in);
	size_t len = (size_t)get_number(in);

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
	MPI_Win real = make(in, upper, len, unit, comm, &part);

	if (in->bad)
		return;
	PMPI_Win_set_errhandler(real, MPI_ERRORS_RETURN);
	if (*name)
		PMPI_Win_set_name(real, name);
	struct vwin *win = (struct vwin *)object_at(RDB_WIN, id, BITS(real));

	win->flavor = allocated ? MPI_WIN_FLAVOR_ALLOCATE : MPI_WIN_FLAVOR_CREATE;
	PMPI_Comm_rank(comm, &win->rank);
	win->comm = MPI_COMM_NULL;
	win->last = &win->first;
	e.comm = comm;
	win->epochs = e;
	if (part)
		window_part_add(part, win);
}

static int begin_again(struct vwin *win)
{
	const struct epochs *e = &win->epochs;
	MPI_Win real = REAL(MPI_Win, win->o.real);
	int rc = e->fenced ? PMPI_Win_fence(0, real) : MPI_SUCCESS;

	if (e->locked && rc == MPI_SUCCESS)
		rc = PMPI_Win_lock_all(0, real);
	for (int i = 0; i < e->size && rc == MPI_SUCCESS; i++) {
		if (e->locks[i]) /* nobody has an exclusive one at a checkpoint */
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
	/* nobody asks for a lock before everybody is there to give it */
	if (!in->bad)
		in->bad = PMPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS;
	if (in->bad || !n)
		return;
	all = calloc((size_t)n, sizeof(struct vwin *));
	if (!all)
		host->fatal("out of memory in a restart");
	EACH(RDB_WIN, win)
	all[made++] = win;
	qsort(all, (size_t)made, sizeof(struct vwin *), by_name);
	for (int64_t i = 0; i < made && !in->bad; i++)
		in->bad = begin_again(all[i]) != MPI_SUCCESS;
	free(all);
}
