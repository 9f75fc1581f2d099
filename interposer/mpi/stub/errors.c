/* Error handlers.  The real MPI only returns error codes; the error handlers are called here. */
#include <sys/syscall.h>
#include <sys/utsname.h>
#include "callbacks.h"
#include "stub.h"

struct handler {
	MPI_Comm_errhandler_function *fn;
	struct handler *next;
	uint32_t id;
	enum rdb_language language;
};

static struct rdb_lock lock;
static struct handler *handlers; /* entries are never removed */
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
	raw_syscall(SYS_write, 2, (long)line, (long)at, 0, 0, 0);
}

/* Text for the object of an error: "communicator MPI_COMM_WORLD", "win W". */
static void place(unsigned class, const void *handle, char *on, size_t size)
{
	static const char *const kinds[RDB_CLASSES] = {
		[RDB_COMM] = "communicator ", [RDB_WIN] = "win ", [RDB_FILE] = "file", [RDB_SESSION] = "session"};
	char name[MPI_MAX_OBJECT_NAME] = "";
	uint32_t id = rdb_id(class, handle);
	int len;
	size_t at = append(on, 0, size, kinds[class]);

	if (class == RDB_FILE || class == RDB_SESSION || id <= RDB_NULL_ID)
		return;
	rdb_call(class == RDB_COMM ? RDB_Comm_get_name : RDB_Win_get_name, 3,
		 (uint64_t[]){id, (uint64_t)name, (uint64_t)&len});
	append(on, at, size, name);
}

static void fatal(unsigned class, void *handle, int code, const char *name)
{
	char who[160], text[MPI_MAX_ERROR_STRING] = "unknown error", on[MPI_MAX_OBJECT_NAME + 16];
	uint32_t comm = rdb_id(RDB_COMM, class == RDB_COMM ? handle : MPI_COMM_WORLD);
	struct utsname host;
	int len;
	size_t at;

	raw_syscall(SYS_uname, (long)&host, 0, 0, 0, 0, 0);
	at = append(who, 0, sizeof(who), "[");
	at = append(who, at, sizeof(who), host.nodename);
	at = append(who, at, sizeof(who), ":");
	at = append_number(who, at, sizeof(who), raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0));
	append(who, at, sizeof(who), "] *** ");
	rdb_call(RDB_Error_string, 3, (uint64_t[]){(uint64_t)(int64_t)code, (uint64_t)text, (uint64_t)&len});
	place(class, handle, on, sizeof(on));
	say(who, "An error occurred in ", name);
	say(who, "on ", on);
	say(who, text, "");
	say(who, "MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,", "");
	say(who, "   and potentially your MPI job)", "");
	code = rdb_error_of_program(code);
	rdb_call(RDB_Abort, 3, (uint64_t[]){comm, (uint64_t)(int64_t)code, 1});
	raw_syscall(SYS_exit_group, code, 0, 0, 0, 0, 0);
}

static MPI_Comm comm_handle(uint32_t id)
{
	if (id >= RDB_FIRST_DYNAMIC)
		return rdb_handle(RDB_COMM, id);
	return id == 3 ? MPI_COMM_SELF : MPI_COMM_WORLD;
}

/* The default for files is MPI_ERRORS_RETURN (MPI-3.1, 13.7). */
static uint32_t handler_of(unsigned class, const void *handle)
{
	const struct rdb_object *object = rdb_object_find(class, rdb_id(class, handle));

	if (object && object->errhandler)
		return rdb_id(RDB_ERRHANDLER, object->errhandler);
	return class == RDB_FILE ? ERRORS_RETURN : ERRORS_ARE_FATAL;
}

static int act(unsigned class, void *handle, int code, const char *name)
{
	uint32_t errhandler = handler_of(class, handle);
	struct handler *handler = handlers;

	if (errhandler == ERRORS_RETURN)
		return code;
	while (handler && handler->id != errhandler)
		handler = handler->next;
	if (!handler)
		fatal(class, handle, code, name);
	else if (handler->language != IN_C)
		rdb_fortran_errhandler(handler->fn, class, handle, &code);
	else
		rdb_call_errhandler(handler->fn, class, &handle, &code, name);
	return code;
}

/* In MPICH an object without an error handler of its own leaves errors to MPI_COMM_WORLD. */
static int raise(unsigned class, void *handle, int code, const char *name)
{
#ifdef RDB_CORE
	const struct rdb_object *object = rdb_object_find(class, rdb_id(class, handle));

	if ((class == RDB_COMM || class == RDB_WIN) && !(object && object->errhandler))
		return act(RDB_COMM, MPI_COMM_WORLD, code, name);
#endif
	return act(class, handle, code, name);
}

/* An error about an invalid communicator goes to MPI_COMM_WORLD's handler. */
static uint32_t told_of(uint32_t id, int code)
{
	int inter;

	if (code == MPI_ERR_COMM && id >= RDB_FIRST_DYNAMIC &&
	    rdb_call(RDB_Comm_test_inter, 2, (uint64_t[]){id, (uint64_t)&inter}))
		return 0;
	return id;
}

int rdb_error(MPI_Comm comm, int64_t result, const char *name)
{
	uint32_t id = result < 0 ? 0 : (uint32_t)(result >> 32); /* Open MPI may return a negative code */

	return raise(RDB_COMM, comm_handle(told_of(id ? id : rdb_id(RDB_COMM, comm), (int)result)), (int)result, name);
}

int rdb_error_on(unsigned class, void *handle, int64_t result, const char *name)
{
	if (class == RDB_FILE && rdb_id(class, handle) <= RDB_NULL_ID)
		handle = HANDLE(RDB_FILE, RDB_NULL_ID);
	else if (class == RDB_WIN && rdb_id(class, handle) <= RDB_NULL_ID)
		return rdb_error(MPI_COMM_WORLD, result, name);
	return raise(class, handle, (int)result, name);
}

int rdb_errhandler_create(void *fn, enum rdb_language language, MPI_Errhandler *errhandler)
{
	struct handler *handler = fn && errhandler ? rdb_alloc(sizeof(*handler)) : NULL;

	if (!handler)
		return MPI_ERR_ARG;
	rdb_lock(&lock);
	*handler = (struct handler){.fn = fn, .next = handlers, .id = next_handler++, .language = language};
	handlers = handler;
	rdb_unlock(&lock);
	*errhandler = rdb_handle(RDB_ERRHANDLER, handler->id);
	return MPI_SUCCESS;
}

static int handler_create(MPI_Comm_errhandler_function *fn, MPI_Errhandler *errhandler, const char *name)
{
	int err = rdb_errhandler_create(fn, IN_C, errhandler);

	return err ? rdb_error(MPI_COMM_WORLD, err, name) : MPI_SUCCESS;
}

/* Whether the object may have an error handler.  MPI_FILE_NULL has that of files opened later. */
static int may_have(unsigned class, const void *handle)
{
	return rdb_id(class, handle) >= (class == RDB_FILE ? RDB_NULL_ID : RDB_NULL_ID + 1);
}

static int no_object(unsigned class, const char *name)
{
	static const int codes[RDB_CLASSES] = {[RDB_COMM] = MPI_ERR_COMM,
					       [RDB_WIN] = MPI_ERR_WIN,
					       [RDB_FILE] = MPI_ERR_FILE,
					       [RDB_SESSION] = MPI_ERR_ARG};

	return rdb_error(MPI_COMM_WORLD, codes[class], name);
}

static int handler_set(unsigned class, void *handle, MPI_Errhandler errhandler, const char *name)
{
	struct rdb_object *object;

	if (!may_have(class, handle))
		return no_object(class, name);
	if (rdb_id(RDB_ERRHANDLER, errhandler) <= RDB_NULL_ID)
		return rdb_error_on(class, handle, MPI_ERR_ARG, name);
	object = rdb_object_get(class, rdb_id(class, handle));
	if (!object)
		return rdb_error_on(class, handle, MPI_ERR_NO_MEM, name);
	object->errhandler = errhandler;
	return MPI_SUCCESS;
}

static int handler_get(unsigned class, void *handle, MPI_Errhandler *errhandler, const char *name)
{
	uint32_t id = handler_of(class, handle);

	if (!may_have(class, handle))
		return no_object(class, name);
	*errhandler = id >= RDB_FIRST_DYNAMIC ? rdb_handle(RDB_ERRHANDLER, id) : HANDLE(RDB_ERRHANDLER, id);
	return MPI_SUCCESS;
}

static int handler_call(unsigned class, void *handle, int code, const char *name)
{
	if (!may_have(class, handle))
		return no_object(class, name);
	act(class, handle, code, name);
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
	return handler_set(RDB_COMM, comm, errhandler, "MPI_Comm_set_errhandler");
}

RDB_MPI(int, Errhandler_set, MPI_Comm comm, MPI_Errhandler errhandler)
{
	return handler_set(RDB_COMM, comm, errhandler, "MPI_Errhandler_set");
}

RDB_MPI(int, Comm_get_errhandler, MPI_Comm comm, MPI_Errhandler *errhandler)
{
	return handler_get(RDB_COMM, comm, errhandler, "MPI_Comm_get_errhandler");
}

RDB_MPI(int, Errhandler_get, MPI_Comm comm, MPI_Errhandler *errhandler)
{
	return handler_get(RDB_COMM, comm, errhandler, "MPI_Errhandler_get");
}

/* The handler is kept: communicators may still use it. */
RDB_MPI(int, Errhandler_free, MPI_Errhandler *errhandler)
{
	if (!errhandler || rdb_id(RDB_ERRHANDLER, *errhandler) <= RDB_NULL_ID)
		return rdb_error(MPI_COMM_WORLD, MPI_ERR_ARG, "MPI_Errhandler_free");
	*errhandler = HANDLE(RDB_ERRHANDLER, RDB_NULL_ID);
	return MPI_SUCCESS;
}

RDB_MPI(int, Comm_call_errhandler, MPI_Comm comm, int errorcode)
{
	return handler_call(RDB_COMM, comm, errorcode, "MPI_Comm_call_errhandler");
}

/* The same for windows, files and sessions, whose handlers have types of their own. */
#define HANDLERS(kind, class, handle_type) \
	RDB_MPI(int, kind##_create_errhandler, kind##_handler *fn, MPI_Errhandler *errhandler) \
	{ \
		return handler_create((MPI_Comm_errhandler_function *)fn, errhandler, \
				      "MPI_" #kind "_create_errhandler"); \
	} \
	RDB_MPI(int, kind##_set_errhandler, handle_type handle, MPI_Errhandler errhandler) \
	{ \
		return handler_set(class, handle, errhandler, "MPI_" #kind "_set_errhandler"); \
	} \
	RDB_MPI(int, kind##_get_errhandler, handle_type handle, MPI_Errhandler *errhandler) \
	{ \
		return handler_get(class, handle, errhandler, "MPI_" #kind "_get_errhandler"); \
	} \
	RDB_MPI(int, kind##_call_errhandler, handle_type handle, int errorcode) \
	{ \
		return handler_call(class, handle, errorcode, "MPI_" #kind "_call_errhandler"); \
	}

typedef MPI_Win_errhandler_function Win_handler;
typedef MPI_File_errhandler_function File_handler;
HANDLERS(Win, RDB_WIN, MPI_Win)
HANDLERS(File, RDB_FILE, MPI_File)
typedef MPI_Session_errhandler_function Session_handler;
HANDLERS(Session, RDB_SESSION, MPI_Session)
