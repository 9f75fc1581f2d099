/* Functions of the program that the core calls: handles, keyvals and error codes are translated to its ABI. */
#include "attributes.h"
#include "shim.h"

typedef int copy_function(void *, int, void *, void *, void *, int *);
typedef int copy_function_int(int, int, void *, void *, void *, int *);
typedef int delete_function(void *, int, void *, void *);
typedef int delete_function_int(int, int, void *, void *);
typedef void errhandler_function(void *, int *, ...);
typedef void user_function(void *, void *, int *, MPI_Datatype *);
typedef void user_function_c(void *, void *, MPI_Count *, MPI_Datatype *);

/* MPI_COMM_DUP_FN, MPI_TYPE_DUP_FN and MPI_WIN_DUP_FN in the ABI in which they are numbers. */
#define DUP_FUNCTION ((copy_function *)1)

int rdb_call_copy(copy_function *fn, unsigned class, void *handle, int keyval, void *extra, void *in, void *out,
		  int *flag);
int rdb_call_copy(copy_function *fn, unsigned class, void *handle, int keyval, void *extra, void *in, void *out,
		  int *flag)
{
	int64_t native = shim_out(class, handle);
	int rc;

	if (fn == DUP_FUNCTION) {
		*(void **)out = in;
		*flag = 1;
		return 0;
	}
	/* the handle is a number or a pointer; both are passed in the same register */
	rc = fn((void *)(intptr_t)native, shim_keyval_out(keyval), extra, in, out, flag);
	return shim_error_in(rc);
}

int rdb_call_delete(delete_function *fn, unsigned class, void *handle, int keyval, void *value, void *extra);
int rdb_call_delete(delete_function *fn, unsigned class, void *handle, int keyval, void *value, void *extra)
{
	return shim_error_in(fn((void *)(intptr_t)shim_out(class, handle), shim_keyval_out(keyval), value, extra));
}

void rdb_call_errhandler(errhandler_function *fn, unsigned class, void *handle, int *code, const char *name);
void rdb_call_errhandler(errhandler_function *fn, unsigned class, void *handle, int *code, const char *name)
{
	int64_t native = shim_out(class, *(void **)handle); /* little-endian: its address is that of an int as well */
	int native_code = shim_error_out(*code);

	fn(&native, &native_code, name);
	*code = shim_error_in(native_code);
}

/* The code with which MPI_ERRORS_ARE_FATAL ends the job. */
int rdb_error_of_program(int code);
int rdb_error_of_program(int code)
{
	return shim_error_out(code);
}

void rdb_call_op(void *in, void *inout, int *len, void **type, user_function *fn);
void rdb_call_op(void *in, void *inout, int *len, void **type, user_function *fn)
{
	MPI_Datatype native = SHIM_OUT(RDB_TYPE, MPI_Datatype, *type);

	fn(in, inout, len, &native);
}

void rdb_call_op_c(void *in, void *inout, int *len, void **type, user_function_c *fn);
void rdb_call_op_c(void *in, void *inout, int *len, void **type, user_function_c *fn)
{
	MPI_Datatype native = SHIM_OUT(RDB_TYPE, MPI_Datatype, *type);
	MPI_Count count = *len;

	fn(in, inout, &count, &native);
}

/* Generalized requests: statuses are converted between the core and the ABI. */
struct generalized {
	int (*query)(void *, MPI_Status *);
	int (*release)(void *);
	int (*cancel)(void *, int);
	void *extra;
	struct generalized *next;
	const void *request; /* the core's */
	int in_fortran;
};

static struct generalized *generalized;
static struct rdb_lock {
	int taken;
} lock;
void rdb_lock(struct rdb_lock *lock);
void rdb_unlock(struct rdb_lock *lock);

void rdb_generalized_in_fortran(const void *request)
{
	struct generalized *g;

	rdb_lock(&lock);
	for (g = generalized; g && g->request != request; g = g->next)
		;
	if (g)
		g->in_fortran = 1;
	rdb_unlock(&lock);
}

static int on_query(void *state, struct rdb_status *core)
{
	const struct generalized *g = state;
	MPI_Status status;
	MPI_Fint rc = 0;

	shim_status_out(&status, core);
	if (g->in_fortran)
		((void (*)(void *, void *, MPI_Fint *))(void *)g->query)(g->extra, &status, &rc);
	else
		rc = g->query(g->extra, &status);
	shim_status_in(core, &status);
	return shim_error_in(rc);
}

static int on_cancel(void *state, int complete)
{
	const struct generalized *g = state;
	MPI_Fint rc = 0;

	if (g->cancel && g->in_fortran) {
		((void (*)(void *, MPI_Fint *, MPI_Fint *))(void *)g->cancel)(g->extra, &complete, &rc);
		return shim_error_in(rc);
	}
	return g->cancel ? shim_error_in(g->cancel(g->extra, complete)) : 0;
}

static int on_release(void *state)
{
	struct generalized *g = state, **link;
	MPI_Fint rc = 0;

	if (g->release && g->in_fortran)
		((void (*)(void *, MPI_Fint *))(void *)g->release)(g->extra, &rc);
	else if (g->release)
		rc = g->release(g->extra);
	rdb_lock(&lock);
	for (link = &generalized; *link != g; link = &(*link)->next)
		;
	*link = g->next;
	rdb_unlock(&lock);
	rdb_free(g, sizeof(*g));
	return shim_error_in(rc);
}

extern int core_MPI_Grequest_start(const void *, const void *, const void *, const void *, const void *);
EXPORT int PMPI_Grequest_start(void *query, void *release, void *cancel, void *extra, MPI_Request *request);
EXPORT int PMPI_Grequest_start(void *query, void *release, void *cancel, void *extra, MPI_Request *request)
{
	struct generalized *g = rdb_alloc(sizeof(*g));
	void *core = NULL;
	int rc;

	if (!g)
		return MPI_ERR_NO_MEM;
	*g = (struct generalized){.query = query, .release = release, .cancel = cancel, .extra = extra};
	rdb_lock(&lock);
	g->next = generalized;
	generalized = g;
	rdb_unlock(&lock);
	rc = core_MPI_Grequest_start(on_query, on_release, on_cancel, g, request ? &core : NULL);
	g->request = core;
	if (rc == 0)
		*request = SHIM_OUT(RDB_REQUEST, MPI_Request, core);
	return shim_error_out(rc);
}
SHIM_ALIAS(MPI_Grequest_start)
