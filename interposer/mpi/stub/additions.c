/* Functions of MPI-4 and later that are made of other functions. */
#include "stub.h"

enum { MPI_UNDEFINED = -32766 };
enum { IGNORED = 0 }; /* MPI_STATUS_IGNORE */

/* The hints are ignored, as the standard allows. */
RDB_MPI(int, Comm_idup_with_info, MPI_Comm comm, MPI_Info info __attribute__((unused)), MPI_Comm *newcomm,
	MPI_Request *request)
{
	return PMPI_Comm_idup(comm, newcomm, request);
}

RDB_MPI(int, Info_create_env, int argc __attribute__((unused)), char *argv __attribute__((unused)), MPI_Info *info)
{
	enum { INFO_ENV = 2 };

	return PMPI_Info_dup(HANDLE(RDB_INFO, INFO_ENV), info);
}

/* Gets the whole value first: some MPIs do not return a part of it. */
RDB_MPI(int, Info_get_string, MPI_Info info, const char *key, int *buflen, char *value, int *flag)
{
	enum { LONGEST = 1024 }; /* MPI_MAX_INFO_VAL of any MPI */
	char whole[LONGEST + 1];
	int len = 0, err = PMPI_Info_get_valuelen(info, key, &len, flag), room = *buflen;

	if (err || !*flag)
		return err;
	*buflen = len + 1;
	len = len < LONGEST ? len : LONGEST;
	if (room > 0)
		err = PMPI_Info_get(info, key, len, whole, flag);
	for (int i = 0; !err && i < room; i++) {
		value[i] = (char)(i + 1 < room && i < len ? whole[i] : 0);
		if (!value[i])
			break;
	}
	return err;
}

/* An empty info object: no resources are known. */
RDB_MPI(int, Get_hw_resource_info, MPI_Info *info)
{
	return PMPI_Info_create(info);
}

#define STATUS_PART(name, field) \
	RDB_MPI(int, Status_get_##name, const MPI_Status *status, int *value) \
	{ \
		*value = status->field; \
		return MPI_SUCCESS; \
	} \
	RDB_MPI(int, Status_set_##name, MPI_Status *status, int value) \
	{ \
		status->field = value; \
		return MPI_SUCCESS; \
	}
STATUS_PART(source, MPI_SOURCE)
STATUS_PART(tag, MPI_TAG)
STATUS_PART(error, MPI_ERROR)

RDB_MPI(int, Request_get_status_any, int count, const MPI_Request *requests, int *index, int *flag, MPI_Status *status)
{
	int err = MPI_SUCCESS, active = 0;

	*index = MPI_UNDEFINED;
	*flag = 0;
	for (int i = 0; i < count && !err && !*flag; i++) {
		if (rdb_id(RDB_REQUEST, requests[i]) <= RDB_NULL_ID)
			continue;
		active++;
		err = PMPI_Request_get_status(requests[i], flag, status);
		if (*flag)
			*index = i;
	}
	if (!active) {
		*flag = 1;
		if (status)
			*status = (MPI_Status){.MPI_SOURCE = -1, .MPI_TAG = -1};
	}
	return err;
}

RDB_MPI(int, Request_get_status_all, int count, const MPI_Request *requests, int *flag, MPI_Status *statuses)
{
	int err = MPI_SUCCESS;

	*flag = 1;
	for (int i = 0; i < count && !err && *flag; i++)
		err = PMPI_Request_get_status(requests[i], flag, statuses ? &statuses[i] : IGNORED);
	return err;
}

RDB_MPI(int, Request_get_status_some, int count, const MPI_Request *requests, int *outcount, int *indices,
	MPI_Status *statuses)
{
	int err = MPI_SUCCESS, active = 0, flag;

	*outcount = 0;
	for (int i = 0; i < count && !err; i++) {
		if (rdb_id(RDB_REQUEST, requests[i]) <= RDB_NULL_ID)
			continue;
		active++;
		err = PMPI_Request_get_status(requests[i], &flag, statuses ? &statuses[*outcount] : IGNORED);
		if (!err && flag)
			indices[(*outcount)++] = i;
	}
	if (!active)
		*outcount = MPI_UNDEFINED;
	return err;
}

/* The pair types of MPI_MINLOC and MPI_MAXLOC. */
RDB_MPI(int, Type_get_value_index, MPI_Datatype value, MPI_Datatype index, MPI_Datatype *pair)
{
	static const struct {
		const char *value, *pair;
	} pairs[] = {{"MPI_FLOAT", "MPI_FLOAT_INT"},
		     {"MPI_DOUBLE", "MPI_DOUBLE_INT"},
		     {"MPI_LONG_DOUBLE", "MPI_LONG_DOUBLE_INT"},
		     {"MPI_LONG", "MPI_LONG_INT"},
		     {"MPI_SHORT", "MPI_SHORT_INT"},
		     {"MPI_INT", "MPI_2INT"}};
	MPI_Datatype with_int = rdb_predefined_named(RDB_TYPE, "MPI_INT");

	*pair = HANDLE(RDB_TYPE, RDB_NULL_ID);
	for (unsigned i = 0; index == with_int && i < COUNT(pairs); i++)
		if (value == rdb_predefined_named(RDB_TYPE, pairs[i].value))
			*pair = rdb_predefined_named(RDB_TYPE, pairs[i].pair);
	return MPI_SUCCESS;
}

/* ---- error classes and codes of the program: in the real MPI they stay in use, which the standard allows ---- */

static int of_the_program(int code, const char *name)
{
	enum { MPI_ERR_LASTCODE = 92 };

	return code > MPI_ERR_LASTCODE ? MPI_SUCCESS : rdb_error(MPI_COMM_WORLD, MPI_ERR_ARG, name);
}

RDB_MPI(int, Remove_error_class, int errorclass)
{
	return of_the_program(errorclass, "MPI_Remove_error_class");
}

RDB_MPI(int, Remove_error_code, int errorcode)
{
	return of_the_program(errorcode, "MPI_Remove_error_code");
}

RDB_MPI(int, Remove_error_string, int errorcode)
{
	int err = of_the_program(errorcode, "MPI_Remove_error_string");

	return err ? err : PMPI_Add_error_string(errorcode, "");
}

/* ---- flushing buffers: when a buffer can be detached, all messages in it have been sent ---- */

RDB_MPI(int, Buffer_flush, void)
{
	void *buffer;
	int size, err = PMPI_Buffer_detach(&buffer, &size);

	return err || !buffer ? err : PMPI_Buffer_attach(buffer, size);
}

RDB_MPI(int, Buffer_iflush, MPI_Request *request)
{
	int err = PMPI_Buffer_flush();

	return err ? err : PMPI_Ibarrier(MPI_COMM_SELF, request);
}

/* ---- events of the tool interface: there are none, as the standard allows ---- */

enum { MPI_T_ERR_INVALID_INDEX = 57, MPI_T_ERR_INVALID_HANDLE = 59, MPI_T_ERR_INVALID_NAME = 73 };

#define NONE(name) \
	RDB_MPI(int, name, int *number) \
	{ \
		*number = 0; \
		return MPI_SUCCESS; \
	}
NONE(T_event_get_num)
NONE(T_source_get_num)

RDB_MPI(int, T_category_get_num_events, int category __attribute__((unused)), int *number)
{
	*number = 0;
	return MPI_SUCCESS;
}

RDB_MPI(int, T_category_get_events, int category __attribute__((unused)), int len __attribute__((unused)),
	int *indices __attribute__((unused)))
{
	return MPI_SUCCESS;
}

RDB_MPI(int, T_event_get_index, const char *name __attribute__((unused)), int *index __attribute__((unused)))
{
	return MPI_T_ERR_INVALID_NAME;
}

#define NO_SUCH(name, error, ...) \
	RDB_MPI(int, name, __VA_ARGS__) \
	{ \
		return error; \
	}
#define NO_EVENT(name, ...) NO_SUCH(name, MPI_T_ERR_INVALID_HANDLE, __VA_ARGS__)
#define NO_INDEX(name, ...) NO_SUCH(name, MPI_T_ERR_INVALID_INDEX, __VA_ARGS__)
NO_INDEX(T_event_get_info, int event, char *name, int *name_len, int *verbosity, MPI_Datatype *types,
	 MPI_Aint *displacements, int *elements, MPI_T_enum *enumtype, MPI_Info *info, char *desc, int *desc_len,
	 int *bind)
NO_INDEX(T_event_handle_alloc, int event, void *object, MPI_Info info, MPI_T_event_registration *registration)
NO_INDEX(T_source_get_info, int source, char *name, int *name_len, char *desc, int *desc_len,
	 MPI_T_source_order *ordering, MPI_Count *ticks, MPI_Count *most, MPI_Info *info)
NO_INDEX(T_source_get_timestamp, int source, MPI_Count *timestamp)
NO_EVENT(T_event_callback_get_info, MPI_T_event_registration registration, MPI_T_cb_safety safety, MPI_Info *info)
NO_EVENT(T_event_callback_set_info, MPI_T_event_registration registration, MPI_T_cb_safety safety, MPI_Info info)
NO_EVENT(T_event_copy, MPI_T_event_instance instance, void *buffer)
NO_EVENT(T_event_get_source, MPI_T_event_instance instance, int *source)
NO_EVENT(T_event_get_timestamp, MPI_T_event_instance instance, MPI_Count *timestamp)
NO_EVENT(T_event_handle_free, MPI_T_event_registration registration, void *data, MPI_T_event_free_cb_function function)
NO_EVENT(T_event_handle_get_info, MPI_T_event_registration registration, MPI_Info *info)
NO_EVENT(T_event_handle_set_info, MPI_T_event_registration registration, MPI_Info info)
NO_EVENT(T_event_read, MPI_T_event_instance instance, int element, void *buffer)
NO_EVENT(T_event_register_callback, MPI_T_event_registration registration, MPI_T_cb_safety safety, MPI_Info info,
	 void *data, MPI_T_event_cb_function function)
NO_EVENT(T_event_set_dropped_handler, MPI_T_event_registration registration, MPI_T_event_dropped_cb_function function)

/* Programs ask whether the library has the standard ABI; Open MPI's is another one. */
RDB_MPI(int, Abi_get_version, int *major, int *minor)
{
	*major = *minor = -1;
	return MPI_SUCCESS;
}
