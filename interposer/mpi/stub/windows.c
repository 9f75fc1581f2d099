/* Windows: their memory, which belongs to the program, and their predefined attributes. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "stub.h"
#include "window_plan.h"

enum { WIN_BASE = 7, WIN_SIZE, WIN_DISP_UNIT, WIN_CREATE_FLAVOR, WIN_MODEL }; /* keyvals */
enum { FLAVOR_CREATE = 1, FLAVOR_ALLOCATE, FLAVOR_DYNAMIC, FLAVOR_SHARED };

struct rdb_window {
	void *base;
	MPI_Aint size;
	void *mapped; /* memory that we have mapped, until the window is freed; or NULL */
	size_t mapped_bytes;
	int unit, flavor, model;
};

static uint64_t number(int value)
{
	return (uint64_t)(int64_t)value;
}

static void unmap(void *at, size_t bytes)
{
	if (at)
		raw_syscall(SYS_munmap, (long)at, (long)bytes, 0, 0, 0, 0);
}

static int made(MPI_Win win, const struct rdb_window *like)
{
	struct rdb_object *object = rdb_object_get(RDB_WIN, rdb_id(RDB_WIN, win));

	if (object && !object->window)
		object->window = rdb_alloc(sizeof(*like));
	if (!object || !object->window)
		return rdb_error_on(RDB_WIN, win, MPI_ERR_NO_MEM, "MPI_Win_create");
	*object->window = *like; /* the model is MPI_WIN_UNIFIED: 0 */
	return MPI_SUCCESS;
}

RDB_MPI(int, Win_create, void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
	const uint64_t args[] = {(uint64_t)base,         (uint64_t)size,         number(unit),
				 rdb_id(RDB_INFO, info), rdb_id(RDB_COMM, comm), (uint64_t)win};
	int64_t rc = rdb_call(RDB_Win_create, COUNT(args), args);

	if (rc)
		return rdb_error(comm, rc, "MPI_Win_create");
	return made(*win, &(struct rdb_window){.base = base, .size = size, .unit = unit, .flavor = FLAVOR_CREATE});
}

RDB_MPI(int, Win_create_dynamic, MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
	const uint64_t args[] = {rdb_id(RDB_INFO, info), rdb_id(RDB_COMM, comm), (uint64_t)win};
	int64_t rc = rdb_call(RDB_Win_create_dynamic, COUNT(args), args);

	if (rc)
		return rdb_error(comm, rc, "MPI_Win_create_dynamic");
	return made(*win, &(struct rdb_window){.unit = 1, .flavor = FLAVOR_DYNAMIC});
}

/* The real side chooses the window's begin within the first 64 bytes, with the same alignment as the public copy. */
RDB_MPI(int, Win_allocate, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win)
{
	size_t bytes = (size > 0 ? (size_t)size : 1) + 64;
	void *at = rdb_map(bytes);
	const uint64_t args[] = {
		(uint64_t)size, number(unit), rdb_id(RDB_INFO, info), rdb_id(RDB_COMM, comm), (uint64_t)baseptr,
		(uint64_t)win,  (uint64_t)at};
	int64_t rc = at ? rdb_call(RDB_Win_allocate, COUNT(args), args) : MPI_ERR_NO_MEM;

	if (rc) {
		unmap(at, bytes);
		return rdb_error(comm, rc, "MPI_Win_allocate");
	}
	return made(*win, &(struct rdb_window){.base = *(void **)baseptr,
					       .size = size,
					       .mapped = at,
					       .mapped_bytes = bytes,
					       .unit = unit,
					       .flavor = FLAVOR_ALLOCATE});
}

/* Maps the file that the lower half of the first rank has made; NULL: failed. */
static char *map_shared(const struct window_plan *plan)
{
	long fd = raw_syscall(SYS_open, (long)plan->path, O_RDWR | O_CLOEXEC, 0, 0, 0, 0), at;

	if (fd < 0)
		return NULL;
	at = raw_syscall(SYS_mmap, 0, (long)plan->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	raw_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
	return at < 0 && at > -4096 ? NULL : (char *)at;
}

/* Two steps, each collective: exchanging the sizes and, when all ranks have mapped the file, making the window. */
RDB_MPI(int, Win_allocate_shared, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win)
{
	struct window_plan plan = {.id = 0};
	uint64_t args[] = {(uint64_t)size,    number(unit),  rdb_id(RDB_INFO, info), rdb_id(RDB_COMM, comm),
			   (uint64_t)baseptr, (uint64_t)win, (uint64_t)&plan,        0};
	int64_t rc = rdb_call(RDB_Win_allocate_shared, COUNT(args), args);
	char *at = NULL;

	if (!rc) {
		at = map_shared(&plan);
		args[7] = (uint64_t)at;
		rc = rdb_call(RDB_Win_allocate_shared, COUNT(args), args);
	}
	if (rc) {
		unmap(at, plan.bytes);
		return rdb_error(comm, rc, "MPI_Win_allocate_shared");
	}
	return made(*win, &(struct rdb_window){.base = plan.offset == WINDOW_NOWHERE ? NULL : at + plan.offset,
					       .size = size,
					       .mapped = at,
					       .mapped_bytes = plan.bytes,
					       .unit = unit,
					       .flavor = FLAVOR_SHARED});
}

RDB_MPI(int, Win_free, MPI_Win *win)
{
	struct rdb_object *object = win ? rdb_object_find(RDB_WIN, rdb_id(RDB_WIN, *win)) : NULL;
	struct rdb_window window = {.base = NULL};
	MPI_Win was = win ? *win : MPI_WIN_NULL;
	int64_t rc = rdb_win_freed(win);

	if (object && object->window)
		window = *object->window;
	if (!rc)
		rc = rdb_call(RDB_Win_free, 1, (uint64_t[]){(uint64_t)win});
	if (rc)
		return rdb_error_on(RDB_WIN, was, rc, "MPI_Win_free");
	if (object && object->window)
		rdb_free(object->window, sizeof(window));
	if (object)
		rdb_object_forget(RDB_WIN, rdb_id(RDB_WIN, was));
	unmap(window.mapped, window.mapped_bytes);
	return MPI_SUCCESS;
}

int rdb_window_attribute(MPI_Win win, int keyval, void **value, int *flag)
{
	struct rdb_object *object = rdb_object_find(RDB_WIN, rdb_id(RDB_WIN, win));
	struct rdb_window *window = object ? object->window : NULL;

	*flag = window && keyval >= WIN_BASE && keyval <= WIN_MODEL;
	if (!*flag)
		return window ? MPI_SUCCESS : MPI_ERR_WIN;
	*value = keyval == WIN_BASE            ? window->base
		 : keyval == WIN_SIZE          ? (void *)&window->size
		 : keyval == WIN_DISP_UNIT     ? (void *)&window->unit
		 : keyval == WIN_CREATE_FLAVOR ? (void *)&window->flavor
					       : (void *)&window->model;
	return MPI_SUCCESS;
}
