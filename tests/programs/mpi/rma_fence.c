/* Windows that are created and allocated, fences, and every kind of access; asserts what it sees. */
#include <assert.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef NDEBUG
#define N 64

static int rank, size;

static void puts_and_gets(MPI_Win win, int *base)
{
	int next = (rank + 1) % size, prev = (rank + size - 1) % size;
	int out[N], in[N];

	for (int i = 0; i < N; i++) {
		base[i] = -1;
		out[i] = rank * 1000 + i;
		in[i] = -2;
	}
	MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
	MPI_Put(out, N / 2, MPI_INT, next, 0, N / 2, MPI_INT, win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < N; i++)
		assert(base[i] == (i < N / 2 ? prev * 1000 + i : -1));
	base[N - 1] = rank; /* a store of our own, beside what others put */
	MPI_Win_fence(0, win);
	MPI_Get(in, N, MPI_INT, next, 0, N, MPI_INT, win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < N / 2; i++)
		assert(in[i] == rank * 1000 + i);
	assert(in[N - 1] == next && in[N / 2] == -1);
	for (int i = 0; i < N; i++)
		base[i] = 0;
	MPI_Win_fence(0, win);
	for (int i = 0; i < N; i++)
		out[i] = i;
	for (int r = 0; r < size; r++)
		MPI_Accumulate(out, N, MPI_INT, r, 0, N, MPI_INT, MPI_SUM, win);
	MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
	for (int i = 0; i < N; i++)
		assert(base[i] == i * size);
}

/* Every other int of the origin goes to every third of the target; the gaps stay. */
static void datatypes(MPI_Win win, int *base)
{
	int next = (rank + 1) % size, prev = (rank + size - 1) % size;
	MPI_Datatype two, three;
	int out[16], in[16];

	MPI_Type_vector(8, 1, 2, MPI_INT, &two);
	MPI_Type_vector(8, 1, 3, MPI_INT, &three);
	MPI_Type_commit(&two);
	MPI_Type_commit(&three);
	for (int i = 0; i < N; i++)
		base[i] = -i;
	for (int i = 0; i < 16; i++) {
		out[i] = rank * 100 + i;
		in[i] = -7;
	}
	MPI_Win_fence(0, win);
	MPI_Put(out, 1, two, next, 1, 1, three, win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < 24; i++)
		assert(base[1 + i] == (i % 3 == 0 ? prev * 100 + i / 3 * 2 : -(1 + i)));
	MPI_Get(in, 1, two, next, 1, 1, three, win);
	for (int i = 1; i < 16; i += 2)
		in[i] = 5000 + i; /* the gaps are ours all the time */
	MPI_Win_fence(0, win);
	for (int i = 0; i < 16; i++)
		assert(in[i] == (i % 2 ? 5000 + i : rank * 100 + i));
	MPI_Type_free(&two);
	MPI_Type_free(&three);
}

/* Absolute addresses: the stack and the heap in one datatype. */
static void absolute(MPI_Win win, int *base)
{
	int here = -1, *there = malloc(sizeof(int));
	MPI_Aint at[2];
	MPI_Datatype both;

	*there = -1;
	MPI_Get_address(&here, &at[0]);
	MPI_Get_address(there, &at[1]);
	MPI_Type_create_hindexed(2, (int[]){1, 1}, at, MPI_INT, &both);
	MPI_Type_commit(&both);
	base[0] = rank + 10;
	base[1] = rank + 20;
	MPI_Win_fence(0, win);
	MPI_Get(MPI_BOTTOM, 1, both, (rank + 1) % size, 0, 2, MPI_INT, win);
	MPI_Win_fence(0, win);
	assert(here == (rank + 1) % size + 10 && *there == (rank + 1) % size + 20);
	MPI_Type_free(&both);
	free(there);
}

static int deleted;
static int delete_attr(MPI_Win win, int keyval, void *value, void *extra)
{
	(void)keyval, (void)extra;
	assert(win != MPI_WIN_NULL && value == &deleted);
	deleted++;
	return MPI_SUCCESS;
}

static void attributes(MPI_Win win, void *base, MPI_Aint bytes, int flavor)
{
	void *at;
	MPI_Aint *length;
	int *number, flag, keyval, len;
	char name[MPI_MAX_OBJECT_NAME];
	MPI_Group group, world;
	MPI_Info info;

	MPI_Win_get_attr(win, MPI_WIN_BASE, &at, &flag);
	assert(flag && at == base);
	MPI_Win_get_attr(win, MPI_WIN_SIZE, &length, &flag);
	assert(flag && *length == bytes);
	MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &number, &flag);
	assert(flag && *number == (int)sizeof(int));
	MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &number, &flag);
	assert(flag && *number == flavor);
	MPI_Win_get_attr(win, MPI_WIN_MODEL, &number, &flag);
	assert(flag && *number == MPI_WIN_UNIFIED);
	MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_attr, &keyval, NULL);
	MPI_Win_set_attr(win, keyval, &deleted);
	MPI_Win_get_attr(win, keyval, &at, &flag);
	assert(flag && at == &deleted);
	MPI_Win_free_keyval(&keyval);
	MPI_Win_set_name(win, "a window");
	MPI_Win_get_name(win, name, &len);
	assert(!strcmp(name, "a window") && len == 8);
	MPI_Win_get_group(win, &group);
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_compare(group, world, &flag);
	assert(flag == MPI_IDENT || flag == MPI_SIMILAR);
	MPI_Group_free(&group);
	MPI_Group_free(&world);
	MPI_Win_get_info(win, &info);
	MPI_Win_set_info(win, info);
	MPI_Info_free(&info);
}

static MPI_Win complained;
static int complaint;
static void complain(MPI_Win *win, int *code, ...)
{
	complained = *win;
	complaint = *code;
}

static void errors(MPI_Win win)
{
	MPI_Errhandler mine, old;
	int class, value = 0, rc;

	MPI_Win_get_errhandler(win, &old);
	assert(old == MPI_ERRORS_ARE_FATAL);
	MPI_Win_create_errhandler(complain, &mine);
	MPI_Win_set_errhandler(win, mine);
	rc = MPI_Put(&value, 1, MPI_INT, size, 0, 1, MPI_INT, win);
	MPI_Error_class(rc, &class);
	assert(class == MPI_ERR_RANK && complained == win && complaint == rc);
	MPI_Win_call_errhandler(win, MPI_ERR_OTHER);
	assert(complaint == MPI_ERR_OTHER);
	MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
	rc = MPI_Get(&value, 1, MPI_INT, size + 3, 0, 1, MPI_INT, win);
	MPI_Error_class(rc, &class);
	assert(class == MPI_ERR_RANK);
	MPI_Errhandler_free(&mine);
}

static void with_window(MPI_Win win, int *base, int flavor)
{
	attributes(win, base, N * sizeof(int), flavor);
	puts_and_gets(win, base);
	datatypes(win, base);
	absolute(win, base);
	MPI_Win_fence(0, win);
	errors(win);
	MPI_Win_free(&win);
	assert(win == MPI_WIN_NULL);
}

int main(void)
{
	static int here[N + 2];
	int *base;
	MPI_Win win;

	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	here[0] = here[N + 1] = 4711;
	MPI_Win_create(here + 1, N * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	with_window(win, here + 1, MPI_WIN_FLAVOR_CREATE);
	assert(here[0] == 4711 && here[N + 1] == 4711 && deleted == 1);
	MPI_Win_allocate(N * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
	with_window(win, base, MPI_WIN_FLAVOR_ALLOCATE);
	assert(deleted == 2);
	/* nobody has any memory but rank 0 */
	MPI_Win_create(rank ? NULL : here, rank ? 0 : sizeof(here), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	if (rank == size - 1)
		MPI_Put(&rank, 1, MPI_INT, 0, 8, 1, MPI_INT, win);
	MPI_Win_fence(0, win);
	assert(rank || here[2] == size - 1);
	MPI_Win_free(&win);
	printf("%d: fences\n", rank);
	MPI_Finalize();
	return 0;
}
