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

/* Values tell what to do: 13 is not copied, 14 fails to be copied, 15 fails to be deleted. */
static int told_copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
	(void)comm, (void)keyval;
	printf("%d: copied %ld %ld\n", rank, (long)extra, (long)in);
	*flag = (long)in != 13;
	*(void **)out = (char *)in + 1;
	return (long)in == 14 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int told_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
	(void)comm, (void)keyval;
	printf("%d: deleted %ld %ld\n", rank, (long)extra, (long)value);
	return (long)value == 15 ? MPI_ERR_INTERN : MPI_SUCCESS;
}

static void dup_and_free(const char *what, MPI_Comm comm)
{
	MPI_Comm other;
	int code = MPI_Comm_dup(comm, &other);

	printf("%d: %s: %s\n", rank, what, class_of(code));
	if (code == MPI_SUCCESS)
		MPI_Comm_free(&other);
}

static void set(MPI_Comm comm, int keyval, long value)
{
	printf("%d: set %ld: %s\n", rank, value, class_of(MPI_Comm_set_attr(comm, keyval, (void *)value)));
}

static void get(MPI_Comm comm, int keyval)
{
	void *value = NULL;
	int flag = 0, code = MPI_Comm_get_attr(comm, keyval, &value, &flag);

	printf("%d: got %s %d %ld\n", rank, class_of(code), flag, flag ? (long)value : 0);
}

static void orders(void)
{
	int keyvals[4], kept[4], tag_ub = MPI_TAG_UB, type_keyval, win_keyval, value[2], flag;
	MPI_Comm comm;
	MPI_Datatype type;
	MPI_Win win;

	for (long i = 0; i < 4; i++)
		MPI_Comm_create_keyval(told_copy, told_delete, &keyvals[i], (void *)(100 + i));
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	for (int i = 3; i >= 0; i--)
		set(comm, keyvals[i], i);
	set(comm, keyvals[2], 5); /* a second time */
	dup_and_free("dup", comm);
	for (int i = 0; i < 4; i++) {
		set(comm, keyvals[i], 14);
		dup_and_free("a copy fails", comm);
		set(comm, keyvals[i], i);
	}
	set(comm, keyvals[1], 13);
	dup_and_free("one is not copied", comm);
	set(comm, keyvals[1], 15);
	set(comm, keyvals[1], 1);
	printf("%d: delete refused: %s\n", rank, class_of(MPI_Comm_delete_attr(comm, keyvals[1])));
	get(comm, keyvals[1]);
	memcpy(kept, keyvals, sizeof(kept));
	MPI_Comm_free_keyval(&keyvals[0]);
	set(comm, kept[0], 20); /* its attributes keep it */
	dup_and_free("with a freed keyval", comm);
	get(comm, kept[0]);
	MPI_Comm_delete_attr(comm, kept[0]);
	get(comm, kept[0]);
	set(comm, kept[0], 21);
	printf("%d: delete: %s\n", rank, class_of(MPI_Comm_delete_attr(comm, kept[0])));
	printf("%d: invalid: %s\n", rank, class_of(MPI_Comm_delete_attr(comm, MPI_KEYVAL_INVALID)));
	get(comm, MPI_KEYVAL_INVALID);
	set(comm, MPI_TAG_UB, 1);
	printf("%d: delete tag_ub: %s\n", rank, class_of(MPI_Comm_delete_attr(comm, MPI_TAG_UB)));
	printf("%d: free tag_ub: %s\n", rank, class_of(MPI_Comm_free_keyval(&tag_ub)));
	printf("%d: absent: %s\n", rank, class_of(MPI_Comm_delete_attr(comm, keyvals[3])));
	printf("%d: absent: %s\n", rank, class_of(MPI_Comm_delete_attr(comm, keyvals[3])));
	printf("%d: free refused: %s\n", rank, class_of(MPI_Comm_free(&comm)));

	MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, refuses, &type_keyval, NULL);
	MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &win_keyval, NULL);
	set(MPI_COMM_WORLD, type_keyval, 1);
	MPI_Type_contiguous(2, MPI_INT, &type);
	printf("%d: type: %s\n", rank, class_of(MPI_Type_set_attr(type, win_keyval, NULL)));
	printf("%d: type: %s\n", rank, class_of(MPI_Type_get_attr(type, win_keyval, &value, &flag)));
	printf("%d: type: %s\n", rank, class_of(MPI_Type_get_attr(type, MPI_TAG_UB, &value, &flag)));
	printf("%d: type: %s\n", rank, class_of(MPI_Type_delete_attr(type, type_keyval)));
	MPI_Type_set_attr(type, type_keyval, NULL);
	printf("%d: type: %s\n", rank, class_of(MPI_Type_delete_attr(type, type_keyval)));
	printf("%d: type: %s\n", rank, class_of(MPI_Type_free_keyval(&win_keyval)));
	MPI_Type_free(&type);
	MPI_Win_create(value, sizeof(value), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
	printf("%d: win: %s\n", rank, class_of(MPI_Win_set_attr(win, type_keyval, NULL)));
	printf("%d: win: %s\n", rank, class_of(MPI_Win_get_attr(win, type_keyval, &value, &flag)));
	printf("%d: win: %s\n", rank, class_of(MPI_Win_delete_attr(win, win_keyval)));
	printf("%d: win: %s\n", rank, class_of(MPI_Win_free_keyval(&type_keyval)));
	MPI_Win_free(&win);
}

/* More often than there are attributes that keep it. */
static void freed_keyvals(void)
{
	MPI_Comm comms[3];
	int keyval, kept;

	for (int uses = 0; uses <= 3; uses++) {
		MPI_Comm_create_keyval(told_copy, told_delete, &kept, NULL);
		for (int i = 0; i < uses; i++) {
			MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
			MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
			set(comms[i], kept, 7);
		}
		for (int i = 0; i < uses + 2; i++) {
			keyval = kept;
			printf("%d: free keyval: %s\n", rank, class_of(MPI_Comm_free_keyval(&keyval)));
			printf("%d: it is invalid %d\n", rank, keyval == MPI_KEYVAL_INVALID);
			get(uses ? comms[0] : MPI_COMM_SELF, kept);
		}
		for (int i = 0; i < uses; i++)
			printf("%d: free: %s\n", rank, class_of(MPI_Comm_free(&comms[i])));
	}
}

/* Whether a communicator has the attributes of MPI_COMM_WORLD. */
static void inherited(void)
{
	MPI_Comm comms[4] = {MPI_COMM_SELF};
	int *value, flag;

	MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
	MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comms[2]);
	MPI_Comm_dup(comms[1], &comms[3]);
	for (int i = 0; i < 4; i++) {
		MPI_Comm_get_attr(comms[i], MPI_TAG_UB, &value, &flag);
		printf("%d: tag_ub of %d: %d\n", rank, i, flag);
		MPI_Comm_get_attr(comms[i], MPI_LASTUSEDCODE, &value, &flag);
		printf("%d: lastusedcode of %d: %d\n", rank, i, flag);
		if (i)
			MPI_Comm_free(&comms[i]);
	}
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

/* Both ends of messages between this rank and `peer`, which does the same. */
static void error_fields_of_messages(MPI_Comm comm, int peer)
{
	int flag, got, sent = 1;
	MPI_Request one;
	MPI_Status status;
	MPI_Message message;

	for (int how = 0; how < 5; how++) {
		const int source = how == 4 ? MPI_PROC_NULL : peer;

		status.MPI_ERROR = 77;
		flag = 0;
		MPI_Isend(&sent, 1, MPI_INT, source, 1, comm, &one);
		while (how == 1 && !flag)
			MPI_Iprobe(source, 1, comm, &flag, &status);
		while (how == 2 && !flag)
			MPI_Improbe(source, 1, comm, &flag, &message, &status);
		if (how == 3)
			MPI_Mprobe(source, 1, comm, &message, &status);
		if (how == 0 || how == 4)
			MPI_Probe(source, 1, comm, &status);
		printf("%d: error field of probe %d: %d\n", rank, how, status.MPI_ERROR);
		status.MPI_ERROR = 77;
		if (how == 2 || how == 3)
			MPI_Mrecv(&got, 1, MPI_INT, &message, &status);
		else
			MPI_Recv(&got, 1, MPI_INT, source, 1, comm, &status);
		printf("%d: error field of receive %d: %d\n", rank, how, status.MPI_ERROR);
		status.MPI_ERROR = 77;
		MPI_Wait(&one, &status);
		printf("%d: error field of wait %d: %d\n", rank, how, status.MPI_ERROR);
	}
	status.MPI_ERROR = 77;
	MPI_Sendrecv_replace(&sent, 1, MPI_INT, peer, 1, peer, 1, comm, &status);
	printf("%d: error field of an exchange: %d\n", rank, status.MPI_ERROR);
}

/* The error field, which most calls leave as it was: 77. */
static void errors_of_statuses(void)
{
	int sent = 1, got, flag, n, indices[3];
	MPI_Request requests[3], one;
	MPI_Status statuses[4], status;

	for (int how = 0; how < 4; how++) {
		for (int i = 0; i < 4; i++)
			statuses[i].MPI_ERROR = 77;
		MPI_Irecv(&got, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[0]);
		requests[1] = MPI_REQUEST_NULL;
		MPI_Isend(&sent, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[2]);
		flag = n = 0;
		while (how == 1 && !flag)
			MPI_Testall(3, requests, &flag, statuses);
		while (how == 2 && !n)
			MPI_Testsome(1, requests, &n, indices, statuses);
		if (how == 3)
			MPI_Waitsome(1, requests, &n, indices, statuses);
		if (how == 0)
			MPI_Waitall(3, requests, statuses);
		for (int i = 0; i < 4; i++)
			printf("%d: error field %d of %d: %d\n", rank, how, i, statuses[i].MPI_ERROR);
		MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
	}
	status.MPI_ERROR = 77;
	one = MPI_REQUEST_NULL;
	MPI_Request_get_status(one, &flag, &status);
	printf("%d: error field of no request: %d\n", rank, status.MPI_ERROR);
	error_fields_of_messages(MPI_COMM_SELF, 0);
	error_fields_of_messages(MPI_COMM_WORLD, 1 - rank); /* for another rank MPICH has other code */
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
	orders();
	freed_keyvals();
	inherited();
	types();
	errors_of_statuses();
	generalized();
	return end();
}
