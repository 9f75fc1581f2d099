/* Info, attributes, error handlers, errors, operations, memory, the profiling names. */
#include "check.h"

static int profiled;

/* A tool's wrapper. */
int MPI_Get_processor_name(char *name, int *len)
{
	profiled++;
	return PMPI_Get_processor_name(name, len);
}

static void infos(void)
{
	char key[MPI_MAX_INFO_KEY + 1], value[64];
	int n, len, flag;
	MPI_Info info, copy;

	MPI_Info_create(&info);
	MPI_Info_set(info, "host", "here");
	MPI_Info_set(info, "wdir", "/tmp");
	MPI_Info_get_nkeys(info, &n);
	CHECK(n == 2);
	MPI_Info_get_nthkey(info, 0, key);
	CHECK(!strcmp(key, "host"));
	MPI_Info_get_valuelen(info, "wdir", &len, &flag);
	CHECK(flag && len == 4);
	MPI_Info_get(info, "wdir", 63, value, &flag);
	CHECK(flag && !strcmp(value, "/tmp"));
	MPI_Info_get(info, "nothing", 63, value, &flag);
	CHECK(!flag);
	MPI_Info_dup(info, &copy);
	MPI_Info_delete(info, "host");
	MPI_Info_get_nkeys(info, &n);
	CHECK(n == 1);
	MPI_Info_get_nkeys(copy, &n);
	CHECK(n == 2);
	MPI_Info_free(&copy);
	MPI_Info_free(&info);
	CHECK(info == MPI_INFO_NULL);
	MPI_Info_get_nkeys(MPI_INFO_ENV, &n);
	CHECK(n > 0);
}

static int copies, deletions;

static int copy_comm(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
	CHECK(extra == &copies);
	copies++;
	*(void **)out = (char *)in + 1;
	*flag = 1;
	return MPI_SUCCESS;
}

static int delete_comm(MPI_Comm comm, int keyval, void *value, void *extra)
{
	int n;

	MPI_Comm_size(comm, &n);
	CHECK(n == size);
	deletions++;
	return MPI_SUCCESS;
}

static int copy_type(MPI_Datatype type, int keyval, void *extra, void *in, void *out, int *flag)
{
	copies++;
	*flag = 0;
	return MPI_SUCCESS;
}

static int delete_type(MPI_Datatype type, int keyval, void *value, void *extra)
{
	deletions++;
	return MPI_SUCCESS;
}

static void attributes(void)
{
	int comm_key, type_key, flag, *value;
	MPI_Comm comm, other;
	MPI_Datatype type, twin;
	void *got;

	MPI_Comm_create_keyval(copy_comm, delete_comm, &comm_key, &copies);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_get_attr(comm, comm_key, &got, &flag);
	CHECK(!flag);
	MPI_Comm_set_attr(comm, comm_key, (void *)100);
	MPI_Comm_dup(comm, &other);
	MPI_Comm_get_attr(other, comm_key, &got, &flag);
	CHECK(flag && got == (void *)101 && copies == 1);
	MPI_Comm_delete_attr(comm, comm_key);
	CHECK(deletions == 1);
	MPI_Comm_free(&other);
	CHECK(deletions == 2);
	MPI_Comm_free_keyval(&comm_key);
	CHECK(comm_key == MPI_KEYVAL_INVALID);
	MPI_Comm_free(&comm);

	MPI_Type_create_keyval(copy_type, delete_type, &type_key, NULL);
	MPI_Type_contiguous(3, MPI_INT, &type);
	MPI_Type_set_attr(type, type_key, &type);
	MPI_Type_dup(type, &twin);
	MPI_Type_get_attr(twin, type_key, &got, &flag);
	CHECK(!flag && copies == 2);
	MPI_Type_get_attr(type, type_key, &got, &flag);
	CHECK(flag && got == &type);
	MPI_Type_delete_attr(type, type_key);
	CHECK(deletions == 3);
	MPI_Type_free(&twin);
	MPI_Type_free(&type);
	MPI_Type_free_keyval(&type_key);

	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
	CHECK(flag && *value >= 32767);
	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag);
	CHECK(flag);
	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag);
	CHECK(!flag || *value >= 0);
}

static int heard, heard_code;
static MPI_Comm heard_comm;

static void handler(MPI_Comm *comm, int *code, ...)
{
	heard++;
	heard_code = *code;
	heard_comm = *comm;
}

static void errors(void)
{
	char text[MPI_MAX_ERROR_STRING];
	int class, code, n, *last, flag;
	MPI_Errhandler mine, before;
	MPI_Comm comm, child;

	MPI_Comm_create_errhandler(handler, &mine);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_get_errhandler(comm, &before);
	CHECK(before == MPI_ERRORS_ARE_FATAL);
	MPI_Comm_set_errhandler(comm, mine);
	CHECK(MPI_Send(&n, 1, MPI_INT, size + 3, 0, comm) != MPI_SUCCESS);
	MPI_Error_class(heard_code, &class);
	CHECK(heard == 1 && heard_comm == comm && class == MPI_ERR_RANK);
	MPI_Comm_split(comm, 0, rank, &child); /* inherits it */
	CHECK(MPI_Bcast(&n, 1, MPI_INT, size + 3, child) != MPI_SUCCESS);
	CHECK(heard == 2 && heard_comm == child);
	MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
	CHECK(heard == 3 && heard_code == MPI_ERR_OTHER);
	MPI_Comm_set_errhandler(child, MPI_ERRORS_RETURN);
	CHECK(MPI_Recv(&n, -1, MPI_INT, 0, 0, child, MPI_STATUS_IGNORE) != MPI_SUCCESS && heard == 3);
	MPI_Errhandler_free(&mine);
	MPI_Comm_free(&child);
	MPI_Comm_free(&comm);

	MPI_Add_error_class(&class);
	MPI_Add_error_code(class, &code);
	MPI_Add_error_string(code, "of the program");
	MPI_Error_string(code, text, &n);
	CHECK(!strcmp(text, "of the program"));
	MPI_Error_class(code, &n);
	CHECK(n == class);
	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
	CHECK(flag && *last >= code);
}

static void keep_first(void *in, void *inout, int *len, MPI_Datatype *type)
{
	memcpy(inout, in, *len * sizeof(int));
}

static void others(void)
{
	char name[MPI_MAX_PROCESSOR_NAME], library[MPI_MAX_LIBRARY_VERSION_STRING];
	int n, m, commutes, a[2] = {rank, 7}, b[2] = {1, 2};
	int *memory;
	MPI_Op op;

	MPI_Get_processor_name(name, &n);
	CHECK(profiled == 1 && n == (int)strlen(name));
	MPI_Get_library_version(library, &n);
	MPI_Get_version(&n, &m);
	CHECK(n >= 3);
	CHECK(MPI_Pcontrol(2, "anything") == MPI_SUCCESS);
	MPI_Alloc_mem(1000 * sizeof(int), MPI_INFO_NULL, &memory);
	memory[999] = rank;
	MPI_Free_mem(memory);
	MPI_Op_create(keep_first, 0, &op);
	MPI_Op_commutative(op, &commutes);
	CHECK(!commutes);
	MPI_Op_commutative(MPI_SUM, &commutes);
	CHECK(commutes);
	MPI_Reduce_local(a, b, 2, MPI_INT, op);
	CHECK(b[0] == rank && b[1] == 7);
	MPI_Scan(a, b, 2, MPI_INT, op, MPI_COMM_WORLD);
	CHECK(b[0] == 0);
	MPI_Op_free(&op);
	CHECK(op == MPI_OP_NULL);
	CHECK(MPI_Aint_add(100, 20) == 120 && MPI_Aint_diff(100, 20) == 80);
	CHECK(MPI_Wtick() >= 0 && MPI_Wtime() >= 0);
}

/* To Fortran's numbers and back. */
static void fortran(void)
{
	MPI_Fint there[sizeof(MPI_Status) / sizeof(MPI_Fint)];
	MPI_Status status, back;
	MPI_Datatype type;
	MPI_Request request;
	MPI_Comm comm;
	int value = 0, n;

	CHECK(MPI_Comm_c2f(MPI_COMM_WORLD) == 0 && MPI_Comm_f2c(1) == MPI_COMM_SELF);
	CHECK(MPI_Type_f2c(MPI_Type_c2f(MPI_DOUBLE)) == MPI_DOUBLE);
	CHECK(MPI_Op_f2c(MPI_Op_c2f(MPI_SUM)) == MPI_SUM);
	CHECK(MPI_Group_f2c(MPI_Group_c2f(MPI_GROUP_EMPTY)) == MPI_GROUP_EMPTY);
	CHECK(MPI_Info_f2c(MPI_Info_c2f(MPI_INFO_NULL)) == MPI_INFO_NULL);
	CHECK(MPI_Errhandler_f2c(MPI_Errhandler_c2f(MPI_ERRORS_RETURN)) == MPI_ERRORS_RETURN);
	CHECK(MPI_Message_f2c(MPI_Message_c2f(MPI_MESSAGE_NO_PROC)) == MPI_MESSAGE_NO_PROC);
	CHECK(MPI_Win_f2c(MPI_Win_c2f(MPI_WIN_NULL)) == MPI_WIN_NULL);
	CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	CHECK(MPI_Comm_f2c(MPI_Comm_c2f(comm)) == comm && MPI_Comm_c2f(comm) != MPI_Comm_c2f(MPI_COMM_WORLD));
	MPI_Type_contiguous(2, MPI_INT, &type);
	CHECK(MPI_Type_f2c(MPI_Type_c2f(type)) == type);
	MPI_Type_free(&type);
	MPI_Irecv(&value, 1, MPI_INT, rank, 4, comm, &request);
	MPI_Send(&rank, 1, MPI_INT, rank, 4, comm);
	request = MPI_Request_f2c(MPI_Request_c2f(request));
	MPI_Wait(&request, &status);
	MPI_Status_c2f(&status, there);
	MPI_Status_f2c(there, &back);
	MPI_Get_count(&back, MPI_INT, &n);
	CHECK(back.MPI_SOURCE == rank && back.MPI_TAG == 4 && n == 1 && value == rank);
	MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
	int flag, level;

	MPI_Initialized(&flag);
	CHECK(!flag);
	begin(&argc, &argv);
	MPI_Initialized(&flag);
	CHECK(flag);
	MPI_Is_thread_main(&flag);
	MPI_Query_thread(&level);
	CHECK(flag && level >= MPI_THREAD_SINGLE);
	infos();
	attributes();
	errors();
	others();
	fortran();
	return end();
}
