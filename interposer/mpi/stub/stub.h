/* The upper half's libmpi: Open MPI 4.1's C ABI in front of the gate.
 *
 * It is part of the program: it needs no other library, keeps no thread-local data, and is deterministic apart from the
 * gate's answers.  Types and constants are those of Open MPI's mpi.h; they are repeated here because another MPI may be
 * installed.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "arch/gate_call.h"
#include "arch/syscall.h"
#include "functions.h"
#include "interface/gate.h"
#include "handles.h"

typedef struct rdb_predef *MPI_Comm, *MPI_Datatype, *MPI_Group, *MPI_Op, *MPI_Request, *MPI_Message, *MPI_Info,
	*MPI_Errhandler, *MPI_Win, *MPI_File, *MPI_Session;
typedef ptrdiff_t MPI_Aint;
typedef int MPI_Fint;
typedef long long MPI_Count, MPI_Offset;
typedef struct {
	int MPI_SOURCE, MPI_TAG, MPI_ERROR;
	int cancelled;
	size_t bytes;
} MPI_Status;
typedef MPI_Status MPI_F08_status; /* its words are the same */

typedef void MPI_User_function(void *, void *, int *, MPI_Datatype *);
typedef void MPI_User_function_c(void *, void *, MPI_Count *, MPI_Datatype *);
typedef int MPI_Datarep_conversion_function(void *, MPI_Datatype, int, void *, MPI_Offset, void *);
typedef int MPI_Datarep_conversion_function_c(void *, MPI_Datatype, MPI_Count, void *, MPI_Offset, void *);
typedef int MPI_Datarep_extent_function(MPI_Datatype, MPI_Aint *, void *);
typedef void MPI_Comm_errhandler_function(MPI_Comm *, int *, ...);
typedef MPI_Comm_errhandler_function MPI_Handler_function;
typedef void MPI_Win_errhandler_function(MPI_Win *, int *, ...);
typedef void MPI_File_errhandler_function(MPI_File *, int *, ...);
typedef int MPI_Comm_copy_attr_function(MPI_Comm, int, void *, void *, void *, int *);
typedef int MPI_Comm_delete_attr_function(MPI_Comm, int, void *, void *);
typedef struct rdb_tool *MPI_T_enum, *MPI_T_cvar_handle, *MPI_T_pvar_handle, *MPI_T_pvar_session;
typedef void MPI_Session_errhandler_function(MPI_Session *, int *, ...);
typedef struct rdb_tool *MPI_T_event_registration, *MPI_T_event_instance;
typedef int MPI_T_cb_safety, MPI_T_source_order;
typedef void *MPI_T_event_cb_function, *MPI_T_event_free_cb_function, *MPI_T_event_dropped_cb_function;
typedef int MPI_Grequest_query_function(void *, MPI_Status *);
typedef int MPI_Grequest_free_function(void *);
typedef int MPI_Grequest_cancel_function(void *, int);
typedef MPI_Comm_copy_attr_function MPI_Copy_function, MPI_Type_copy_attr_function;
typedef MPI_Comm_delete_attr_function MPI_Delete_function, MPI_Type_delete_attr_function;
typedef int MPI_Win_copy_attr_function(MPI_Win, int, void *, void *, void *, int *);
typedef int MPI_Win_delete_attr_function(MPI_Win, int, void *, void *);

enum {
	MPI_SUCCESS = 0,
	MPI_ERR_TYPE = 3,
	MPI_ERR_COMM = 5,
	MPI_ERR_ARG = 13,
	MPI_ERR_OTHER = 16,
	MPI_ERR_NO_MEM = 39,
	MPI_ERR_KEYVAL = 36,
	MPI_ERR_FILE = 30,
	MPI_ERR_WIN = 53,
	MPI_KEYVAL_INVALID = -1,
};
#define MPI_MAX_ERROR_STRING 256
#define MPI_MAX_OBJECT_NAME 64

#ifdef RDB_CORE /* in another ABI's libmpi (shim/): only the shims, which have the public names, call these functions */
#include "core_names.h"
#define EXPORT
#define RDB_MPI(result, name, ...) \
	result PMPI_##name(__VA_ARGS__); \
	result PMPI_##name(__VA_ARGS__)
#define RDB_ALIAS(name)
#define RDB_REFUSED(symbol, index, name)
#define RDB_INTERNAL(name)
#define RDB_ABSENT(name)
#define RDB_DATA(name, size)
#else
#define EXPORT __attribute__((visibility("default")))
/* PMPI_name, and MPI_name as a weak alias that a profiling tool may replace. */
#define RDB_MPI(result, name, ...) \
	EXPORT result PMPI_##name(__VA_ARGS__); \
	EXPORT result MPI_##name(__VA_ARGS__) __attribute__((weak, alias("PMPI_" #name))); \
	EXPORT result PMPI_##name(__VA_ARGS__)
/* A function that is not supported: the lower half reports it and ends the process. */
#define RDB_ALIAS(name) EXPORT void name(void) __attribute__((weak, alias("P" #name)));
#define RDB_REFUSED(symbol, index, name) \
	EXPORT void symbol(void) \
	{ \
		rdb_call(index, 0, 0); \
		__builtin_trap(); \
	}
#define RDB_INTERNAL(name) \
	EXPORT void name(void) \
	{ \
		rdb_unsupported(#name RDB_IS_INTERNAL); \
	}

/* A function of the standard that the library does not have: a program that refers to it starts, but cannot call it. */
#define RDB_ABSENT(name) \
	EXPORT void P##name(void) \
	{ \
		rdb_unsupported(#name RDB_IS_ABSENT); \
	} \
	RDB_ALIAS(name)
#define RDB_DATA(name, size) EXPORT char name[size] __attribute__((aligned(16)));
#endif
void *memset(void *to, int byte, size_t n);
void *memcpy(void *restrict to, const void *restrict from, size_t n);
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#include "prototypes.h"

extern const struct rdb_predef_table rdb_predefined;
#define HANDLE(class, id) ((struct rdb_predef *)rdb_predefined.handles[class][id])
#define MPI_WIN_NULL HANDLE(RDB_WIN, RDB_NULL_ID)
#define MPI_COMM_NULL HANDLE(RDB_COMM, RDB_NULL_ID)
#define MPI_COMM_WORLD HANDLE(RDB_COMM, 2)
#define MPI_COMM_SELF HANDLE(RDB_COMM, 3)

static inline int64_t rdb_call(uint32_t index, uint32_t nargs, const uint64_t *args)
{
	return rdb_gate_call(RDB_FN(RDB_NS_MPI, index), nargs, args);
}

/* Ends the process and reports TEXT. */
void rdb_unsupported(const char *text) __attribute__((noreturn));

/* memory.c: a lock for data shared by threads; never held while functions of the program are called. */
struct rdb_lock {
	int taken;
};
void rdb_lock(struct rdb_lock *lock);
void rdb_unlock(struct rdb_lock *lock);

/* memory.c: memory of at most 64 bytes, which is never given back to the system. */
void *rdb_alloc(size_t bytes);
void rdb_free(void *piece, size_t bytes);

/* errors.c: calls the error handler; every failure is passed here.  `result`: error code and, in the upper 32 bits, the
 * id of the communicator that a request belonged to, or 0: `comm`.  Returns the code, if it returns. */
int rdb_error(MPI_Comm comm, int64_t result, const char *name);
/* The same for a window, file or session; for an invalid file, MPI_FILE_NULL's handler is called. */
int rdb_error_on(unsigned class, void *handle, int64_t result, const char *name);

/* objects.c: data that the stub keeps for one object. */
struct rdb_attr {
	struct rdb_attr *next; /* newest first */
	int keyval;
	enum rdb_language { IN_C, IN_FORTRAN_INTEGER, IN_FORTRAN_ADDRESS } language; /* in which it was set */
	void *value;                                                                 /* a number if set in Fortran */
};
struct rdb_object {
	struct rdb_object *next;
	unsigned class;
	uint32_t id;
	MPI_Errhandler errhandler; /* NULL: the default, MPI_ERRORS_ARE_FATAL or a file's MPI_ERRORS_RETURN */
	struct rdb_attr *attrs;
	struct rdb_window *window; /* windows.c */
};
struct rdb_object *rdb_object_find(unsigned class, uint32_t id);
struct rdb_object *rdb_object_get(unsigned class, uint32_t id);
void rdb_object_forget(unsigned class, uint32_t id);
void rdb_comm_made(MPI_Comm parent, MPI_Comm comm);

/* attributes.c: 0 or the error code of a callback. */
int rdb_comm_copied(MPI_Comm from, MPI_Comm *to);
int rdb_comm_freed(MPI_Comm *comm);
int rdb_type_copied(MPI_Datatype from, MPI_Datatype *to);
int rdb_type_freed(MPI_Datatype *type);
int rdb_win_freed(MPI_Win *win);
/* In MPI_Finalize: attributes of MPI_COMM_SELF are deleted first (MPI 3.1, 8.7.1), those of MPI_COMM_WORLD if the MPI
 * below does so. */
int rdb_attrs_end(void);
/* With the language: Fortran callbacks are called in another way, and Fortran attributes are numbers. */
int rdb_keyval_create(unsigned class, void *copy, void *delete, int *id, void *extra, enum rdb_language language);
int rdb_attr_set(unsigned class, void *handle, int id, void *value, enum rdb_language language, const char *name);
int rdb_attr_number(unsigned class, void *handle, int id, int64_t *number, int *flag, const char *name);

/* errors.c: with the language, too. */
int rdb_errhandler_create(void *fn, enum rdb_language language, MPI_Errhandler *errhandler);

/* windows.c: predefined attributes, MPI_WIN_BASE to MPI_WIN_MODEL. */
int rdb_window_attribute(MPI_Win win, int keyval, void **value, int *flag);

/* files.c */
void rdb_file_opened(MPI_File file);

/* local.c: initializes the real MPI, for functions that may be called before MPI_Init; 0 or an error code. */
int rdb_begin(int level);
enum { RDB_LEVEL_MULTIPLE = 3 };
int rdb_session_ended(void);
int rdb_sessions_open(void); /* sessions.c */

/* objects.c: the predefined handle with this name, or the null handle. */
void *rdb_predefined_named(unsigned class, const char *name);

/* memory.c: a new anonymous mapping; NULL: no memory. */
void *rdb_map(size_t bytes);
