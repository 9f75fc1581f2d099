/* Fortran's numbers of handles, its strings, and other functions of libmpi that Open MPI's Fortran library needs. */
#include "fortran.h"

extern char mpi_fortran_status_ignore_[], mpi_fortran_statuses_ignore_[];
EXPORT MPI_Fint *MPI_F_STATUS_IGNORE = (MPI_Fint *)mpi_fortran_status_ignore_;
EXPORT MPI_Fint *MPI_F_STATUSES_IGNORE = (MPI_Fint *)mpi_fortran_statuses_ignore_;

/* From the program's C library: the Fortran library frees memory that it gets from here. */
extern void *malloc(size_t) __attribute__((weak));
extern void free(void *) __attribute__((weak));

MPI_Fint rdb_fortran_number(unsigned class, const void *handle)
{
	uint32_t id = rdb_id(class, handle);

	if (id >= RDB_FIRST_DYNAMIC)
		return (MPI_Fint)id;
	return id ? rdb_predefined.handles[class][id]->fortran : -1;
}

void *rdb_fortran_handle(unsigned class, MPI_Fint number)
{
	const struct rdb_fortran_table *known = &rdb_fortran[class];
	uint32_t id = number >= 0 && (uint32_t)number < known->count ? known->ids[number] : 0;

	if (!rdb_body_fits(number))
		return id ? HANDLE(class, id) : NULL; /* NULL as in Open MPI: calls with it fail */
	if (class == RDB_OP || (class == RDB_REQUEST && rdb_generalized((uint32_t)number)))
		return rdb_body(class, (uint32_t)number);
	return rdb_handle(class, (uint32_t)number);
}

/* A handle that the Fortran library can look into. */
static void *with_body(unsigned class, MPI_Fint number)
{
	void *handle = rdb_body_fits(number) ? rdb_body(class, (uint32_t)number) : rdb_fortran_handle(class, number);

	if (!handle)
		handle = HANDLE(class, RDB_NULL_ID);
	rdb_body_look(handle);
	return handle;
}

#define CONVERSIONS(name, class, handle_type) \
	RDB_MPI(MPI_Fint, name##_c2f, handle_type handle) \
	{ \
		return rdb_fortran_number(class, handle); \
	} \
	RDB_MPI(handle_type, name##_f2c, MPI_Fint number) \
	{ \
		return rdb_fortran_handle(class, number); \
	}

/* The Fortran library calls the PMPI_ function and looks into the handle; C programs call the MPI_ function and get the
 * usual handle. */
#define CONVERSIONS_LOOKED_INTO(name, class, handle_type, looked_into) \
	RDB_MPI(MPI_Fint, name##_c2f, handle_type handle) \
	{ \
		return rdb_fortran_number(class, handle); \
	} \
	EXPORT handle_type PMPI_##name##_f2c(MPI_Fint number) \
	{ \
		return looked_into; \
	} \
	EXPORT handle_type MPI_##name##_f2c(MPI_Fint number); \
	EXPORT __attribute__((weak)) handle_type MPI_##name##_f2c(MPI_Fint number) \
	{ \
		return rdb_fortran_handle(class, number); \
	}
CONVERSIONS_LOOKED_INTO(Comm, RDB_COMM, MPI_Comm, with_body(RDB_COMM, number))
CONVERSIONS_LOOKED_INTO(Type, RDB_TYPE, MPI_Datatype, with_body(RDB_TYPE, number))
CONVERSIONS(Group, RDB_GROUP, MPI_Group)
CONVERSIONS(Op, RDB_OP, MPI_Op)
CONVERSIONS_LOOKED_INTO(Request, RDB_REQUEST, MPI_Request, rdb_request_looked_into(number))
CONVERSIONS(Message, RDB_MESSAGE, MPI_Message)
CONVERSIONS(Info, RDB_INFO, MPI_Info)
CONVERSIONS(Errhandler, RDB_ERRHANDLER, MPI_Errhandler)
CONVERSIONS_LOOKED_INTO(Win, RDB_WIN, MPI_Win, with_body(RDB_WIN, number))
CONVERSIONS(File, RDB_FILE, MPI_File)
CONVERSIONS(Session, RDB_SESSION, MPI_Session)

/* All kinds of statuses have the same words. */
static int status_copied(const void *from, void *to)
{
	const void *const ignored[] = {NULL, MPI_F_STATUS_IGNORE, MPI_F_STATUSES_IGNORE};

	for (unsigned i = 0; i < COUNT(ignored); i++)
		if (from == ignored[i] || to == ignored[i])
			return MPI_ERR_ARG;
	memcpy(to, from, sizeof(MPI_Status));
	return MPI_SUCCESS;
}

#define STATUS_COPIED(name, from_type, to_type) \
	RDB_MPI(int, name, const from_type *from, to_type *to) \
	{ \
		return status_copied(from, to); \
	}
STATUS_COPIED(Status_c2f, MPI_Status, MPI_Fint)
STATUS_COPIED(Status_f2c, MPI_Fint, MPI_Status)
STATUS_COPIED(Status_c2f08, MPI_Status, MPI_F08_status)
STATUS_COPIED(Status_f082c, MPI_F08_status, MPI_Status)
STATUS_COPIED(Status_f2f08, MPI_Fint, MPI_F08_status)
STATUS_COPIED(Status_f082f, MPI_F08_status, MPI_Fint)

/* Copies a string without leading and trailing blanks. */
static char *string_of(const char *text, int length)
{
	char *copy;

	while (length > 0 && *text == ' ') {
		text++;
		length--;
	}
	while (length > 0 && text[length - 1] == ' ')
		length--;
	length = length > 0 ? length : 0;
	copy = malloc((size_t)length + 1);
	if (copy) {
		memcpy(copy, text, (size_t)length);
		copy[length] = 0;
	}
	return copy;
}

EXPORT int ompi_fortran_string_f2c(const char *text, int length, char **copy);
EXPORT int ompi_fortran_string_f2c(const char *text, int length, char **copy)
{
	*copy = string_of(text, length);
	return *copy ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

EXPORT int ompi_fortran_string_c2f(const char *text, char *fortran, int length);
EXPORT int ompi_fortran_string_c2f(const char *text, char *fortran, int length)
{
	for (int i = 0; i < length; i++)
		fortran[i] = (char)(*text ? *text++ : ' ');
	return MPI_SUCCESS;
}

static int strings(const char *array, int count, int length, int stride, char ***argv)
{
	char **list = malloc(((size_t)count + 1) * sizeof(*list));

	*argv = list;
	if (!list)
		return MPI_ERR_NO_MEM;
	for (int i = 0; i < count; i++) {
		list[i] = string_of(array + (ptrdiff_t)i * stride, length);
		if (!list[i])
			return MPI_ERR_NO_MEM;
	}
	list[count] = NULL;
	return MPI_SUCCESS;
}

EXPORT int ompi_fortran_argv_count_f2c(const char *array, int count, int length, int stride, char ***argv);
EXPORT int ompi_fortran_argv_count_f2c(const char *array, int count, int length, int stride, char ***argv)
{
	return strings(array, count > 0 ? count : 0, length, stride, argv);
}

static int blank(const char *text, int length)
{
	while (length > 0 && *text == ' ') {
		text++;
		length--;
	}
	return length <= 0;
}

/* A blank string ends the array. */
EXPORT int ompi_fortran_argv_blank_f2c(const char *array, int length, int stride, char ***argv);
EXPORT int ompi_fortran_argv_blank_f2c(const char *array, int length, int stride, char ***argv)
{
	int count = 0;

	while (!blank(array + (ptrdiff_t)count * stride, length))
		count++;
	return strings(array, count, length, stride, argv);
}

/* array(commands, *): arguments of one command are `commands` strings apart. */
EXPORT int ompi_fortran_multiple_argvs_f2c(int commands, const char *array, int length, char ****argv);
EXPORT int ompi_fortran_multiple_argvs_f2c(int commands, const char *array, int length, char ****argv)
{
	char ***lists = malloc(((size_t)commands + 1) * sizeof(*lists));
	int err = lists ? MPI_SUCCESS : MPI_ERR_NO_MEM;

	*argv = lists;
	for (int i = 0; i < commands && !err; i++)
		err = ompi_fortran_argv_blank_f2c(array + (ptrdiff_t)i * length, length, length * commands, &lists[i]);
	return err;
}

/* MPI_Type_match_size; returns a Fortran type. */
EXPORT const void *ompi_datatype_match_size(int size, uint16_t kind, uint16_t language);
EXPORT const void *ompi_datatype_match_size(int size, uint16_t kind, uint16_t language __attribute__((unused)))
{
	enum { INTEGERS = 0x1000, REALS = 0x2000, COMPLEXES = 0x3000 };
	static const struct {
		uint16_t kind;
		int size, number;
	} types[] = {
		{INTEGERS, 1, 8}, {INTEGERS, 2, 9}, {INTEGERS, 4, 7},   {INTEGERS, 8, 11},   {REALS, 4, 13},
		{REALS, 8, 15},   {REALS, 16, 16},  {COMPLEXES, 8, 18}, {COMPLEXES, 16, 20}, {COMPLEXES, 32, 21},
	};

	for (unsigned i = 0; i < COUNT(types); i++)
		if (types[i].kind == kind && types[i].size == size)
			return rdb_fortran_handle(RDB_TYPE, types[i].number);
	return HANDLE(RDB_TYPE, RDB_NULL_ID);
}

/* Open MPI 5's Fortran library gets info values by these functions, which call no error handler.  The strings must be
 * made by its libopen-pal, which also frees them. */
extern void *opal_cstring_create(const char *) __attribute__((weak));

static int string_created(const char *text, void **string)
{
	if (!opal_cstring_create)
		rdb_unsupported(
			"opal_cstring_create: the program has not loaded Open MPI's libopen-pal, which exports it");
	*string = opal_cstring_create(text);
	return *string ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

EXPORT int ompi_info_get_valuelen(MPI_Info info, const char *key, int *length, int *flag);
EXPORT int ompi_info_get_valuelen(MPI_Info info, const char *key, int *length, int *flag)
{
	uint64_t id = rdb_id(RDB_INFO, info);

	*flag = 0;
	if (id == RDB_NULL_ID) /* as an empty info object */
		return MPI_SUCCESS;
	return (int)rdb_call(RDB_Info_get_valuelen, 4,
			     (uint64_t[]){id, (uint64_t)key, (uint64_t)length, (uint64_t)flag});
}

EXPORT int ompi_info_get(MPI_Info info, const char *key, void **value, int *flag);
EXPORT int ompi_info_get(MPI_Info info, const char *key, void **value, int *flag)
{
	int length = 0, err = ompi_info_get_valuelen(info, key, &length, flag);
	char *text;

	if (err || !*flag)
		return err;
	text = malloc((size_t)length + 1);
	if (!text)
		return MPI_ERR_NO_MEM;
	err = (int)rdb_call(
		RDB_Info_get, 5,
		(uint64_t[]){rdb_id(RDB_INFO, info), (uint64_t)key, (uint64_t)length, (uint64_t)text, (uint64_t)flag});
	if (!err && *flag)
		err = string_created(text, value);
	free(text);
	return err;
}

EXPORT int ompi_info_get_nthkey(MPI_Info info, int n, void **key);
EXPORT int ompi_info_get_nthkey(MPI_Info info, int n, void **key)
{
	char text[256]; /* MPI_MAX_INFO_KEY of any MPI */
	int err = (int)rdb_call(RDB_Info_get_nthkey, 3,
				(uint64_t[]){rdb_id(RDB_INFO, info), (uint64_t)(int64_t)n, (uint64_t)text});

	return err ? err : string_created(text, key);
}
