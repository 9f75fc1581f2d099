/* Answers that must be those of the MPI below: the test compares these lines with those of the program without rdb. */
#include "check.h"

static const char *class_of(int code)
{
	static char text[32];
	int class = -1;

	MPI_Error_class(code, &class);
	sprintf(text, "class %d", class);
	return code == MPI_SUCCESS ? "ok" : text;
}

static int on_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
	(void)comm, (void)keyval, (void)extra;
	printf("%d: deleted %ld\n", rank, (long)value);
	return MPI_SUCCESS;
}

static int refuses(MPI_Datatype type, int keyval, void *value, void *extra)
{
	(void)type, (void)keyval, (void)value, (void)extra;
	return MPI_ERR_OTHER;
}

static void predefined(int keyval, const char *name)
{
	int *value = NULL, flag = 0;

	MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &value, &flag);
	printf("%d: %s %d %d\n", rank, name, flag, flag ? *value : 0);
}

static void attributes(void)
{
	int keyval;
	MPI_Datatype type;

	predefined(MPI_TAG_UB, "tag_ub");
	predefined(MPI_HOST, "host");
	predefined(MPI_IO, "io");
	predefined(MPI_APPNUM, "appnum");
	predefined(MPI_WTIME_IS_GLOBAL, "wtime_is_global");
	MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, refuses, &keyval, NULL);
	MPI_Type_contiguous(2, MPI_INT, &type);
	MPI_Type_set_attr(type, keyval, NULL);
	printf("%d: a type whose callback refuses: %s\n", rank, class_of(MPI_Type_free(&type)));
	printf("%d: it is null %d\n", rank, type == MPI_DATATYPE_NULL);
	MPI_Type_free_keyval(&keyval);
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval, NULL);
	MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, (void *)1);
	MPI_Comm_set_attr(MPI_COMM_SELF, keyval, (void *)2);
}

static void types(void)
{
	MPI_Datatype real, same, complex, pair, inside;
	MPI_Aint address;
	char name[MPI_MAX_OBJECT_NAME];
	int count, n = 0;

	MPI_Type_create_f90_real(6, 30, &real);
	MPI_Type_create_f90_real(6, 30, &same);
	MPI_Type_create_f90_complex(6, 30, &complex);
	MPI_Type_contiguous(2, real, &pair);
	MPI_Type_get_contents(pair, 1, 0, 1, &count, &address, &inside);
	printf("%d: one handle %d %d %d\n", rank, real == same, inside == real, complex == real);
	MPI_Type_free(&pair);
	MPI_Type_get_name(MPI_CXX_FLOAT_COMPLEX, name, &n);
	printf("%d: name of %d letters\n", rank, n);
}

static int query(void *extra, MPI_Status *status)
{
	status->MPI_SOURCE = status->MPI_TAG = 0;
	MPI_Status_set_elements(status, MPI_BYTE, 0);
	MPI_Status_set_cancelled(status, 0);
	return ((int *)extra)[0];
}

static int release(void *extra)
{
	return ((int *)extra)[1];
}

static int cancel(void *extra, int complete)
{
	(void)complete;
	return ((int *)extra)[2];
}

static void generalized(void)
{
	int codes[3][3] = {{MPI_ERR_IO}, {0, MPI_ERR_NO_MEM}, {0, 0, MPI_ERR_FILE}};
	MPI_Status status;
	MPI_Request request;

	for (int i = 0; i < 3; i++) {
		MPI_Grequest_start(query, release, cancel, codes[i], &request);
		printf("%d: cancel: %s\n", rank, class_of(MPI_Cancel(&request)));
		MPI_Grequest_complete(request);
		printf("%d: wait: %s\n", rank, class_of(MPI_Wait(&request, &status)));
	}
}

int main(int argc, char **argv)
{
	int version, subversion, bytes;
	void *buffer;

	MPI_Get_version(&version, &subversion);
	begin(&argc, &argv);
	printf("%d: version %d.%d\n", rank, version, subversion);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	/* Open MPI returns a code below 0 */
	printf("%d: no buffer: %d\n", rank, MPI_Buffer_detach(&buffer, &bytes) != MPI_SUCCESS);
	attributes();
	types();
	generalized();
	return end();
}
