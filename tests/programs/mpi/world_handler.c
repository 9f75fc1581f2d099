/* Errors of objects that have no error handler of their own: MPICH leaves them to MPI_COMM_WORLD's. */
#include "check.h"

static int calls, on_world;

static void count(MPI_Comm *comm, int *code, ...)
{
	calls++;
	on_world += *comm == MPI_COMM_WORLD;
}

static int class_of(int code)
{
	MPI_Error_class(code, &code);
	return code;
}

static void raise_errors(MPI_Comm dup, MPI_Win win)
{
	int keyval, data = 0;

	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
	printf("%d: rank %d\n", rank, class_of(MPI_Send(&data, 1, MPI_INT, 99, 0, dup)));
	printf("%d: self %d\n", rank, class_of(MPI_Send(&data, 1, MPI_INT, 99, 0, MPI_COMM_SELF)));
	printf("%d: null %d\n", rank, class_of(MPI_Comm_split(dup, 0, 0, NULL)));
	printf("%d: window %d\n", rank, class_of(MPI_Win_set_attr(win, keyval, NULL)));
	printf("%d: put %d\n", rank, class_of(MPI_Put(&data, 1, MPI_INT, 99, 0, 1, MPI_INT, win)));
	printf("%d: calls %d %d\n", rank, calls, on_world);
	MPI_Comm_free_keyval(&keyval);
}

int main(int argc, char **argv)
{
	MPI_Comm dup, later;
	MPI_Errhandler handler, got;
	MPI_Win win;
	int data = 0;

	begin(&argc, &argv);
	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	MPI_Win_create(&data, sizeof(data), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	raise_errors(dup, win);
	MPI_Comm_get_errhandler(dup, &got);
	printf("%d: fatal %d\n", rank, got == MPI_ERRORS_ARE_FATAL);
	MPI_Comm_create_errhandler(count, &handler);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
	raise_errors(dup, win);
	MPI_Comm_dup(MPI_COMM_WORLD, &later); /* inherits it */
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Send(&data, 1, MPI_INT, 99, 0, later);
	printf("%d: calls %d %d\n", rank, calls, on_world);
	MPI_Win_free(&win);
	MPI_Comm_free(&later);
	MPI_Comm_free(&dup);
	return end();
}
