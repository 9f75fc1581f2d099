/* Memory of MPI_Win_allocate_shared: one file that all ranks map. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/private.h"
#include "lower/windows/windows.h"
#include "window_plan.h"

#define PAGES(bytes) (((bytes) + 4095) & ~4095ul)
enum { NOWHERE = -1 }; /* in offsets: the address of the part is NULL */
_Static_assert((uint64_t)NOWHERE == WINDOW_NOWHERE, "the stub knows it by this number");

/* State between the two steps of MPI_Win_allocate_shared. */
struct shared_plan {
	struct shared_plan *next;
	struct window_plan told;
	MPI_Aint *sizes, *offsets;
	int *units;
};
static struct shared_plan *plans;
static uint64_t plans_made;

/* Makes the file, in the first rank, which unlinks it when all ranks have mapped it. */
static int make_file(struct window_plan *told)
{
	int fd, rc = MPI_SUCCESS;

	snprintf(told->path, sizeof(told->path), WINDOW_FILES "%d-%lu", (int)getpid(), (unsigned long)plans_made);
	fd = private_open(AT_FDCWD, told->path, O_RDWR | O_EXCL);
	if (fd < 0)
		return MPI_ERR_NO_MEM;
	if (posix_fallocate(fd, 0, (off_t)told->bytes))
		rc = MPI_ERR_NO_MEM;
	close(fd);
	if (rc != MPI_SUCCESS)
		unlink(told->path);
	return rc;
}

/* MPI-4.0, 12.2.3: with this key each part may begin at a page of its own. */
static bool may_have_gaps(MPI_Info info)
{
	char value[8] = "";
	int flag = 0;

	return info != MPI_INFO_NULL &&
	       PMPI_Info_get(info, "alloc_shared_noncontig", sizeof(value) - 1, value, &flag) == MPI_SUCCESS && flag &&
	       !strcmp(value, "true");
}

/* Places the part of a rank as the real MPI does: whether a part of size 0 has an address, and whether parts with gaps
 * between them are whole pages. */
static void place(struct shared_plan *plan, int rank, MPI_Aint size, bool gaps)
{
#ifdef OPEN_MPI
	const bool nowhere = gaps && !size;
	size = gaps ? (MPI_Aint)PAGES((uint64_t)size) : size;
#else
	const bool nowhere = !size;
#endif
	plan->sizes[rank] = size;
	plan->offsets[rank] = nowhere ? NOWHERE : (MPI_Aint)plan->told.bytes;
	plan->told.bytes += (uint64_t)size;
	if (gaps)
		plan->told.bytes = PAGES(plan->told.bytes);
}

static char *part_at(char *shared, MPI_Aint offset)
{
	return offset == NOWHERE ? NULL : shared + offset;
}

static int64_t shared_plan(const uint64_t *a, struct window_plan *upper)
{
	struct vcomm *comm = comm_of(a[3]);
	int n = comm->size, rc, made = MPI_SUCCESS;
	struct {
		MPI_Aint size;
		int unit, gaps;
	} mine = {(MPI_Aint)a[0], (int)a[1], may_have_gaps(REAL(MPI_Info, info_of(a[2])->real))},
	  *all = needed(calloc(n > 0 ? n : 1, sizeof(*all)));
	struct shared_plan *plan = needed(calloc(1, sizeof(*plan)));

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
	plan->sizes = needed(calloc(n, sizeof(*plan->sizes)));
	plan->offsets = needed(calloc(n, sizeof(*plan->offsets)));
	plan->units = needed(calloc(n, sizeof(*plan->units)));
	for (int i = 0; i < n; i++) {
		plan->units[i] = all[i].unit;
		place(plan, i, all[i].size, all[0].gaps);
	}
	free(all);
	plan->told.bytes = PAGES(plan->told.bytes + 1); /* nothing cannot be mapped */
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
		host->fatal("a shared window: rdb's MPI stub and MPI plug-in are of different versions");
	*link = plan->next;
	return plan;
}

/* Whether all parts of the shared memory, which begins at a page, are at multiples of window_alignment(). */
static bool all_even(const MPI_Aint *sizes, const MPI_Aint *offsets, int ranks)
{
	bool even = true;

	for (int i = 0; i < ranks; i++)
		even &= !sizes[i] || !((size_t)offsets[i] & (window_alignment() - 1));
	return even;
}

/* Makes the real window over our part of the shared memory.  If the MPI library can only make windows of its own memory
 * (Open MPI with threads and no network), or would move this one, ours gets a public copy, like other windows. */
static int shared_real(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, bool even, char *mine, MPI_Win *real,
		       MPI_Comm *dup, struct window_part **part)
{
	char *public = NULL;
	int rc = MPI_ERR_OTHER;

	if (even)
		rc = BLOCKING(PMPI_Win_create(mine, size, unit, info, comm, real));
	if (rc == MPI_SUCCESS && size > 0)
		window_placed(*real, mine, "MPI_Win_allocate_shared");
	if (rc == MPI_SUCCESS)
		return rc;
	rc = BLOCKING(PMPI_Win_allocate(even_size(size), unit, info, comm, &public, real));
	if (rc != MPI_SUCCESS)
		return rc;
	if (size > 0) {
		window_placed(*real, public, "MPI_Win_allocate_shared");
		*part = window_part_over(mine, public, size);
	}
	rc = BLOCKING(PMPI_Comm_dup(comm, dup));
	return rc == MPI_SUCCESS ? BLOCKING(PMPI_Barrier(*dup)) : rc;
}

/* size, disp_unit, info, comm, baseptr, win, plan, and in the second step the address where the file is mapped */
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
	mine = part_at(at, plan->offsets[comm->rank]);
	rc = BLOCKING(PMPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_LAND, comm->o.real));
	if (comm->rank == 0 && plan->told.path[0])
		unlink(plan->told.path);
	if (rc == MPI_SUCCESS && !all)
		rc = MPI_ERR_RMA_SHARED; /* the ranks are not all on one host */
	if (rc == MPI_SUCCESS)
		rc = shared_real((MPI_Aint)a[0], (int)a[1], REAL(MPI_Info, info_of(a[2])->real),
				 REAL(MPI_Comm, comm->o.real), all_even(plan->sizes, plan->offsets, comm->size), mine,
				 &real, &dup, &part);
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
	if (comm->size > 1) /* they may have freed it when somebody looks for them */
		host->others_share(at);
	win->shared_bytes = plan->told.bytes;
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
	bool any = true;
	char *base;

	if (!win->o.real)
		return MPI_ERR_WIN;
	if (win->flavor != MPI_WIN_FLAVOR_SHARED)
		return MPI_ERR_RMA_FLAVOR;
	if (rank == MPI_PROC_NULL) { /* the lowest rank with memory */
		rank = 0;
		while (rank < win->ranks - 1 && !win->sizes[rank])
			rank++;
		any = win->sizes[rank];
	}
	if (rank < 0 || rank >= win->ranks)
		return MPI_ERR_RANK;
	base = any ? part_at(win->shared, win->offsets[rank]) : NULL;
	put((void *)a[2], &win->sizes[rank], sizeof(win->sizes[rank]));
	put((void *)a[3], &win->units[rank], sizeof(win->units[rank]));
	put((void *)a[4], &base, sizeof(base));
	return MPI_SUCCESS;
}

/* ---- in a checkpoint, and a restart ---- */

bool windows_share(uint64_t start, uint64_t end)
{
	const struct vwin *win;

	EACH(RDB_WIN, win)
	{
		if (win->shared && start >= (uint64_t)win->shared && end <= (uint64_t)win->shared + win->shared_bytes)
			return true;
	}
	return false;
}

void put_shared(struct bytes *out, const struct vwin *win)
{
	put_number(out, (int64_t)win->shared);
	put_number(out, (int64_t)win->shared_bytes);
	put_number(out, win->rank);
	for (int i = 0; i < win->ranks; i++) {
		put_number(out, win->sizes[i]);
		put_number(out, win->offsets[i]);
		put_number(out, win->units[i]);
	}
	/* each rank saves its own part; no rank goes on before all have saved */
	put_bytes(out, part_at(win->shared, win->offsets[win->rank]), (size_t)win->sizes[win->rank]);
}

static bool on_one_host(MPI_Comm comm, int ranks)
{
	MPI_Comm host_ranks;
	int there = 0;

	if (PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host_ranks) != MPI_SUCCESS)
		return false;
	PMPI_Comm_size(host_ranks, &there);
	PMPI_Comm_free(&host_ranks);
	return there == ranks;
}

/* Replaces the memory that the image has restored there. */
static bool map_there(const char *path, char *at, size_t bytes)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *got = fd < 0 ? MAP_FAILED
			   : mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, 0);

	if (fd >= 0)
		close(fd);
	return got != MAP_FAILED;
}

const char *shared_again(MPI_Comm comm, int ranks, int rank, char *at, size_t bytes)
{
	struct window_plan told = {.bytes = bytes};
	int ok, all = 0;

	if (!on_one_host(comm, ranks))
		return "the ranks of a window of MPI_Win_allocate_shared are on several hosts in this restart";
	plans_made++;
	if (rank == 0 && make_file(&told) != MPI_SUCCESS)
		told.path[0] = 0;
	PMPI_Bcast(told.path, sizeof(told.path), MPI_CHAR, 0, comm);
	ok = map_there(told.path, at, bytes);
	PMPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_LAND, comm);
	if (rank == 0 && told.path[0])
		unlink(told.path);
	return all ? NULL : "out of memory for a window of MPI_Win_allocate_shared";
}

MPI_Win get_shared(struct bytes *in, MPI_Comm comm, int ranks, struct vwin *win, struct window_part **part)
{
	MPI_Win real = MPI_WIN_NULL;
	const void *mine;

	win->shared = (char *)get_number(in);
	win->shared_bytes = (size_t)get_number(in);
	win->rank = (int)get_number(in);
	win->ranks = ranks;
	win->sizes = room_for(in, ranks, sizeof(*win->sizes));
	win->offsets = room_for(in, ranks, sizeof(*win->offsets));
	win->units = room_for(in, ranks, sizeof(*win->units));
	for (int i = 0; i < ranks && !in->bad; i++) {
		win->sizes[i] = (MPI_Aint)get_number(in);
		win->offsets[i] = (MPI_Aint)get_number(in);
		win->units[i] = (int)get_number(in);
	}
	if (in->bad || win->rank < 0 || win->rank >= ranks) {
		in->bad = true;
		return real;
	}
	const MPI_Aint size = win->sizes[win->rank];

	mine = get_bytes(in, (size_t)size);
	if (!in->bad)
		in->why = shared_again(comm, ranks, win->rank, win->shared, win->shared_bytes);
	in->bad |= in->why != NULL;
	if (in->bad)
		return real;
	char *part_begins = part_at(win->shared, win->offsets[win->rank]);
	if (size)
		memcpy(part_begins, mine, (size_t)size);
	win->comm = MPI_COMM_NULL;
	in->bad = PMPI_Barrier(comm) != MPI_SUCCESS || shared_real(size, win->units[win->rank], MPI_INFO_NULL, comm,
								   all_even(win->sizes, win->offsets, ranks),
								   part_begins, &real, &win->comm, part) != MPI_SUCCESS;
	return real;
}

/* Whether all ranks have the same contents: then there is no store that another rank has not seen. */
static bool all_have(const struct open_window *one)
{
	uint64_t hash = 0xcbf29ce484222325ull, mine[2], most[2] = {0};

	for (size_t i = 0; i < one->shared_bytes; i += sizeof(hash)) {
		hash = (hash ^ *(const uint64_t *)(one->shared + i)) * 0x100000001b3ull;
		hash ^= hash >> 29;
	}
	mine[0] = hash;
	mine[1] = ~hash;
	return PMPI_Allreduce(mine, most, 2, MPI_UINT64_T, MPI_MAX, one->comm) == MPI_SUCCESS && most[0] == ~most[1];
}

static bool parts_known(const struct open_window *one, struct vwin *win)
{
	struct window_part *part;
	int *unit = NULL, flag = 0;
	MPI_Win real = REAL(MPI_Win, win->o.real);
	struct {
		MPI_Aint size, offset;
		long unit;
	} mine = {0}, *all;

	PMPI_Comm_size(one->comm, &win->ranks);
	PMPI_Win_get_attr(real, MPI_WIN_DISP_UNIT, &unit, &flag);
	part = window_part_remove(win, NULL, true);
	mine.size = part ? (MPI_Aint)part->len : 0;
	mine.offset = (MPI_Aint)one->offset;
	mine.unit = flag ? *unit : 1;
	if (PMPI_Win_free(&real) != MPI_SUCCESS)
		return false;
	if (part)
		window_part_free(part);
	all = needed(calloc((size_t)win->ranks, sizeof(*all)));
	win->sizes = needed(calloc((size_t)win->ranks, sizeof(*win->sizes)));
	win->offsets = needed(calloc((size_t)win->ranks, sizeof(*win->offsets)));
	win->units = needed(calloc((size_t)win->ranks, sizeof(*win->units)));
	if (PMPI_Allgather(&mine, sizeof(mine), MPI_BYTE, all, sizeof(mine), MPI_BYTE, one->comm) != MPI_SUCCESS)
		return false;
	for (int i = 0; i < win->ranks; i++) {
		win->sizes[i] = all[i].size;
		win->offsets[i] = all[i].offset;
		win->units[i] = (int)all[i].unit;
	}
	free(all);
	return true;
}

const char *restart_shared_cut(const struct open_window *one)
{
	struct vwin *win = win_of(one->id);
	struct window_part *part = NULL;
	MPI_Win real = MPI_WIN_NULL;
	char *content;
	const char *why;

	if (!all_have(one))
		return "the ranks of a window of MPI_Win_allocate_shared have different content in it at the cut; "
		       "choose an event after a barrier";
	content = needed(malloc(one->shared_bytes));
	memcpy(content, one->shared, one->shared_bytes);
	if (!parts_known(one, win))
		return "its window cannot be made again";
	why = shared_again(one->comm, win->ranks, win->rank, one->shared, one->shared_bytes);
	if (why)
		return why;
	if (win->rank == 0)
		memcpy(one->shared, content, one->shared_bytes);
	free(content);
	win->flavor = MPI_WIN_FLAVOR_SHARED;
	win->shared = one->shared;
	win->shared_bytes = one->shared_bytes;
	if (PMPI_Barrier(one->comm) != MPI_SUCCESS ||
	    shared_real(win->sizes[win->rank], win->units[win->rank], MPI_INFO_NULL, one->comm,
			all_even(win->sizes, win->offsets, win->ranks), part_at(one->shared, (MPI_Aint)one->offset),
			&real, &win->comm, &part) != MPI_SUCCESS)
		return "its window cannot be made again";
	PMPI_Win_set_errhandler(real, MPI_ERRORS_RETURN);
	win->o.real = BITS(real);
	if (part)
		window_part_add(part, win);
	return NULL;
}
