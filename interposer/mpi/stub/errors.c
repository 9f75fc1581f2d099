/* Error handlers.  The real MPI below only ever returns codes; what follows is decided here. */
#include <sys/syscall.h>
#include <sys/utsname.h>
#include "stub.h"

struct handler {
	MPI_Comm_errhandler_function *fn;
	struct handler *next;
	uint32_t id;
};

static struct rdb_lock lock;
static struct handler *handlers; /* only added to */
static uint32_t next_handler = RDB_FIRST_DYNAMIC;

enum { ERRORS_ARE_FATAL = 2, ERRORS_RETURN = 3 }; /* ids, as the ABI table numbers them */

static size_t append(char *text, size_t at, size_t size, const char *more)
{
	while (*more && at + 1 < size)
		text[at++] = *more++;
	text[at] = 0;
	return at;
}

/* As printf's %05ld. */
static size_t append_number(char *text, size_t at, size_t size, long number)
{
	char digits[24];
	int n = sizeof(digits) - 1;

	digits[n] = 0;
	while (number || n > (int)sizeof(digits) - 6) {
		digits[--n] = (char)('0' + number % 10);
		number /= 10;
	}
	return append(text, at, size, digits + n);
}

static void say(const char *who, const char *a, const char *b)
{
	char line[640];
	size_t at = append(line, 0, sizeof(line), who);

	at = append(line, at, sizeof(line), a);
	at = append(line, at, sizeof(line), b);
	at = append(line, at, sizeof(line), "\n");
	rdb_syscall(SYS_write, 2, (long)line, (long)at, 0, 0, 0);
}

static void fatal(MPI_Comm comm, int code, const char *name)
{
	char who[160], text[MPI_MAX_ERROR_STRING] = "unknown error", on[MPI_MAX_OBJECT_NAME] = "";
	struct utsname host;
	int len;
	size_t at;

	rdb_syscall(SYS_uname, (long)&host, 0, 0, 0, 0, 0);
	at = append(who, 0, sizeof(who), "[");
	at = append(who, at, sizeof(who), host.nodename);
	at = append(who, at, sizeof(who), ":");
	at = append_number(who, at, sizeof(who), rdb_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0));
	append(who, at, sizeof(who), "] *** ");
	rdb_call(RDB_Error_string, 3, (uint64_t[]){(uint64_t)(int64_t)code, (uint64_t)text, (uint64_t)&len});
	rdb_call(RDB_Comm_get_name, 3, (uint64_t[]){rdb_id(RDB_COMM, comm), (uint64_t)on, (uint64_t)&len});
	say(who, "An error occurred in ", name);
	say(who, "on communicator ", on);
	say(who, text, "");
	say(who, "MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,", "");
	say(who, "   and potentially your MPI job)", "");
	rdb_call(RDB_Abort, 3, (uint64_t[]){rdb_id(RDB_COMM, comm), (uint64_t)(int64_t)code, 1});
	rdb_syscall(SYS_exit_group, code, 0, 0, 0, 0, 0);
}

static MPI_Comm comm_handle(uint32_t id)
{
	if (id >= RDB_FIRST_DYNAMIC)
		return rdb_handle(RDB_COMM, id);
	return id == 3 ? MPI_COMM_SELF : MPI_COMM_WORLD;
}

int rdb_error(MPI_Comm comm, int64_t result, const char *name)
{
	int code = (int)result;
	uint32_t id = (uint32_t)(result >> 32);
	struct rdb_object *object;
	struct handler *handler = handlers;
	uint32_t errhandler = ERRORS_ARE_FATAL;

	/* An error about an invalid communicator goes to MPI_COMM_WORLD's handler. */
	comm = comm_handle(id ? id : rdb_id(RDB_COMM, comm));
	object = rdb_object_find(RDB_COMM, rdb_id(RDB_COMM, comm));
	if (object && object->errhandler)
		errhandler = rdb_id(RDB_ERRHANDLER, object->errhandler);
	if (errhandler == ERRORS_RETURN)
		return code;
	while (handler && handler->id != errhandler)
		handler = handler->next;
	if (!handler)
		fatal(comm, code, name);
	else
		handler->fn(&comm, &code, name);
	return code;
}

static int handler_create(MPI_Comm_errhandler_function *fn, MPI_Errhandler *errhandler, const char *name)
{
	struct handler *handler = fn && errhandler ? rdb_alloc(sizeof(*handler)) : NULL;

	if (!handler)
		return rdb_error(MPI_COMM_WORLD, MPI_ERR_ARG, name);
	rdb_lock(&lock);
	*handler = (struct handler){.fn = fn, .next = handlers, .id = next_handler++};
	handlers = handler;
	rdb_unlock(&lock);
	*errhandler = rdb_handle(RDB_ERRHANDLER, handler->id);
	return MPI_SUCCESS;
}

static int handler_set(MPI_Comm comm, MPI_Errhandler errhandler, const char *name)
{
	uint32_t id = rdb_id(RDB_COMM, comm);
	struct rdb_object *object;

	if (id <= RDB_NULL_ID)
		return rdb_error(MPI_COMM_WORLD, MPI_ERR_COMM, name);
	if (rdb_id(RDB_ERRHANDLER, errhandler) <= RDB_NULL_ID)
		return rdb_error(comm, MPI_ERR_ARG, name);
	object = rdb_object_get(RDB_COMM, id);
	if (!object)
		return rdb_error(comm, MPI_ERR_NO_MEM, name);
	object->errhandler = errhandler;
	return MPI_SUCCESS;
}

static int handler_get(MPI_Comm comm, MPI_Errhandler *errhandler, const char *name)
{
	uint32_t id = rdb_id(RDB_COMM, comm);
	struct rdb_object *object = rdb_object_find(RDB_COMM, id);

	if (id <= RDB_NULL_ID)
		return rdb_error(MPI_COMM_WORLD, MPI_ERR_COMM, name);
	*errhandler = object && object->errhandler ? object->errhandler : HANDLE(RDB_ERRHANDLER, ERRORS_ARE_FATAL);
	return MPI_SUCCESS;
}

RDB_MPI(int, Comm_create_errhandler, MPI_Comm_errhandler_function *fn, MPI_Errhandler *errhandler)
{
	return handler_create(fn, errhandler, "MPI_Comm_create_errhandler");
}

RDB_MPI(int, Errhandler_create, MPI_Handler_function *fn, MPI_Errhandler *errhandler)
{
	return handler_create(fn, errhandler, "MPI_Errhandler_create");
}

RDB_MPI(int, Comm_set_errhandler, MPI_Comm comm, MPI_Errhandler errhandler)
{
	return handler_set(comm, errhandler, "MPI_Comm_set_errhandler");
}

RDB_MPI(int, Errhandler_set, MPI_Comm comm, MPI_Errhandler errhandler)
{
	return handler_set(comm, errhandler, "MPI_Errhandler_set");
}

RDB_MPI(int, Comm_get_errhandler, MPI_Comm comm, MPI_Errhandler *errhandler)
{
	return handler_get(comm, errhandler, "MPI_Comm_get_errhandler");
}

RDB_MPI(int, Errhandler_get, MPI_Comm comm, MPI_Errhandler *errhandler)
{
	return handler_get(comm, errhandler, "MPI_Errhandler_get");
}

/* The handler itself stays: communicators may still have it. */
RDB_MPI(int, Errhandler_free, MPI_Errhandler *errhandler)
{
	if (!errhandler || rdb_id(RDB_ERRHANDLER, *errhandler) <= RDB_NULL_ID)
		return rdb_error(MPI_COMM_WORLD, MPI_ERR_ARG, "MPI_Errhandler_free");
	*errhandler = HANDLE(RDB_ERRHANDLER, RDB_NULL_ID);
	return MPI_SUCCESS;
}

RDB_MPI(int, Comm_call_errhandler, MPI_Comm comm, int errorcode)
{
	if (rdb_id(RDB_COMM, comm) <= RDB_NULL_ID)
		return rdb_error(MPI_COMM_WORLD, MPI_ERR_COMM, "MPI_Comm_call_errhandler");
	rdb_error(comm, (uint32_t)errorcode, "MPI_Comm_call_errhandler");
	return MPI_SUCCESS;
}
