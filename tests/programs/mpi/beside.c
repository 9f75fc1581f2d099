/* Functions of MPI-1 that MPI-3 took out of the standard, and what C has for Fortran: handles as numbers, statuses. */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
			abort(); \
		} \
	} while (0)

/* Some mpi.h declare them no more; libraries still have them, for old binaries and Fortran. */
int OldAddress(const void *location, MPI_Aint *address) __asm__("MPI_Address");
int OldStruct(int count, int *lengths, MPI_Aint *offsets, MPI_Datatype *types,
	      MPI_Datatype *made) __asm__("MPI_Type_struct");
int OldHvector(int count, int length, MPI_Aint stride, MPI_Datatype old,
	       MPI_Datatype *made) __asm__("MPI_Type_hvector");
int OldHindexed(int count, int *lengths, MPI_Aint *offsets, MPI_Datatype old,
		MPI_Datatype *made) __asm__("MPI_Type_hindexed");
int OldExtent(MPI_Datatype type, MPI_Aint *extent) __asm__("MPI_Type_extent");
int OldLower(MPI_Datatype type, MPI_Aint *lb) __asm__("MPI_Type_lb");
int OldUpper(MPI_Datatype type, MPI_Aint *ub) __asm__("MPI_Type_ub");
int OldHandler(MPI_Comm_errhandler_function *function, MPI_Errhandler *errhandler) __asm__("MPI_Errhandler_create");
int OldSet(MPI_Comm comm, MPI_Errhandler errhandler) __asm__("MPI_Errhandler_set");
int OldGet(MPI_Comm comm, MPI_Errhandler *errhandler) __asm__("MPI_Errhandler_get");

struct pair {
	int number;
	double value;
};

static int errors;

static void count_errors(MPI_Comm *comm, int *code, ...)
{
	errors += comm && code;
}

static void types(void)
{
	struct pair pair = {7, 2.5}, copy = {0, 0};
	int lengths[] = {1, 1};
	MPI_Aint at[2], extent, lb, ub;
	MPI_Datatype parts[] = {MPI_INT, MPI_DOUBLE}, made, rows, picked;

	OldAddress(&pair.number, &at[0]);
	OldAddress(&pair.value, &at[1]);
	CHECK(MPI_Aint_diff(at[1], at[0]) == offsetof(struct pair, value));
	CHECK(MPI_Aint_add(at[0], offsetof(struct pair, value)) == at[1]);
	at[1] = MPI_Aint_diff(at[1], at[0]);
	at[0] = 0;
	CHECK(!OldStruct(2, lengths, at, parts, &made));
	MPI_Type_commit(&made);
	OldExtent(made, &extent);
	OldLower(made, &lb);
	OldUpper(made, &ub);
	CHECK(extent == sizeof(struct pair) && lb == 0 && ub == extent);
	MPI_Sendrecv(&pair, 1, made, 0, 1, &copy, 1, made, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
	CHECK(copy.number == 7 && copy.value == 2.5);
	CHECK(!OldHvector(3, 1, 64, made, &rows));
	OldExtent(rows, &extent);
	CHECK(extent == 2 * 64 + (MPI_Aint)sizeof(struct pair));
	CHECK(!OldHindexed(2, lengths, at, made, &picked));
	MPI_Type_free(&picked);
	MPI_Type_free(&rows);
	MPI_Type_free(&made);
}

/* MPICH's mpi.h still has these. */
#ifdef MPICH_VERSION
static void bounds(void)
{
	int lengths[] = {1, 1, 1}, size, n;
	MPI_Aint at[] = {-3, 0, 6}, lb, ub;
	MPI_Datatype parts[] = {MPI_LB, MPI_INT, MPI_UB}, made;
	char name[MPI_MAX_OBJECT_NAME];

	CHECK(!OldStruct(3, lengths, at, parts, &made));
	OldLower(made, &lb);
	OldUpper(made, &ub);
	MPI_Type_size(made, &size);
	CHECK(lb == -3 && ub == 6 && size == sizeof(int));
	MPI_Type_free(&made);
	CHECK(!MPI_Type_get_name(MPI_UB, name, &n) && !strcmp(name, "MPI_UB"));
	CHECK(MPI_Type_f2c(MPI_Type_c2f(MPI_LB)) == MPI_LB);
}
#else
static void bounds(void) {}
#endif

static void error_handlers(void)
{
	MPI_Errhandler handler, got;
	int none = 0;

	OldHandler(count_errors, &handler);
	OldSet(MPI_COMM_SELF, handler);
	OldGet(MPI_COMM_SELF, &got);
	CHECK(got == handler);
	MPI_Send(&none, 1, MPI_INT, 99, 0, MPI_COMM_SELF);
	CHECK(errors == 1);
	OldSet(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

static void fortran(void)
{
	MPI_Fint words[8];
	MPI_Status status, again;
	MPI_Comm dup;
	MPI_File file;
	int count = 0, sent = 5, got = 0;

	MPI_Comm_dup(MPI_COMM_SELF, &dup);
	CHECK(MPI_Comm_f2c(MPI_Comm_c2f(dup)) == dup);
	CHECK(MPI_Type_f2c(MPI_Type_c2f(MPI_DOUBLE)) == MPI_DOUBLE);
	CHECK(!MPI_File_open(dup, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
	CHECK(MPI_File_f2c(MPI_File_c2f(file)) == file);
	CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
	MPI_File_close(&file);
	MPI_Sendrecv(&sent, 1, MPI_INT, 0, 9, &got, 1, MPI_INT, 0, MPI_ANY_TAG, dup, &status);
	CHECK(!MPI_Status_c2f(&status, words) && !MPI_Status_f2c(words, &again));
	MPI_Get_count(&again, MPI_INT, &count);
	CHECK(again.MPI_SOURCE == 0 && again.MPI_TAG == 9 && count == 1 && got == 5);
	MPI_Comm_free(&dup);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	types();
	bounds();
	error_handlers();
	fortran();
	printf("well\n");
	return MPI_Finalize();
}
