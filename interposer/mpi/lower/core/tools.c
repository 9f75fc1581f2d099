/* The tool information interface (MPI_T): calls are passed through; handles are replaced by numbers of ours. */
#include <stdio.h>
#include "lower/objects/real.h"

#define TOOL_HANDLE (RDB_DYNAMIC | 15ull << 48) /* no class of MPI objects has number 15 */

struct tool {
	void *real;
	size_t bytes; /* of the variable's value */
	bool taken;
};

static struct tool *tools;
static unsigned tool_count;

static unsigned begun; /* calls of MPI_T_init_thread without an MPI_T_finalize */

bool tools_begun(void)
{
	return begun > 0;
}

static void *tool_new(void *real, size_t bytes)
{
	unsigned i = 0;

	while (i < tool_count && tools[i].taken)
		i++;
	if (i == tool_count) {
		tools = needed(realloc(tools, (tool_count + 16) * sizeof(*tools)));
		memset(tools + tool_count, 0, 16 * sizeof(*tools));
		tool_count += 16;
	}
	tools[i] = (struct tool){real, bytes, true};
	return (void *)(TOOL_HANDLE | i);
}

static struct tool *tool_of(uint64_t handle)
{
	static struct tool none;
	uint64_t i = handle & UINT32_MAX;

	return (handle & ~(uint64_t)UINT32_MAX) == TOOL_HANDLE && i < tool_count ? &tools[i] : &none;
}

/* Null handles are passed through; MPI_T_PVAR_ALL_HANDLES is 1 in the standard ABI. */
static void *tool_real(uint64_t handle)
{
	if ((handle & ~(uint64_t)UINT32_MAX) == TOOL_HANDLE)
		return tool_of(handle)->real;
	if (handle == UINT64_MAX || handle == 1)
		return MPI_T_PVAR_ALL_HANDLES;
	return (void *)handle;
}

static void put_tool(void *upper, void *real, size_t bytes)
{
	void *handle = tool_new(real, bytes);

	put(upper, &handle, sizeof(handle));
}

/* Each enumeration keeps one handle, because there is no call to free it. */
static void put_enum(void *upper, void *real)
{
	void *handle = real; /* MPI_T_ENUM_NULL */

	for (unsigned i = 0; real && i < tool_count; i++) {
		if (tools[i].taken && tools[i].real == real)
			handle = (void *)(TOOL_HANDLE | i);
	}
	if (handle && handle == real)
		handle = tool_new(real, 0);
	put(upper, &handle, sizeof(handle));
}

static void put_int(uint64_t upper, int value)
{
	put((void *)upper, &value, sizeof(value));
}

/* An output string and its length argument: in, the room; out, the length needed. */
struct text {
	char *upper, *room;
	int *upper_len;
	int given, len;
};

static void text_begin(struct text *text, uint64_t upper, uint64_t upper_len)
{
	*text = (struct text){.upper = (char *)upper, .upper_len = (int *)upper_len};
	text->given = text->len = text->upper_len ? *text->upper_len : 0;
	text->room = needed(calloc(1, text->given > 0 ? (size_t)text->given + 1 : 1));
}

static char *text_room(struct text *text)
{
	return text->upper && text->given > 0 ? text->room : NULL;
}

static int *text_len(struct text *text)
{
	return text->upper_len ? &text->len : NULL;
}

static void text_end(struct text *text, int rc)
{
	if (rc == MPI_SUCCESS && text_room(text))
		put(text->upper, text->room, strlen(text->room) + 1);
	if (rc == MPI_SUCCESS)
		put(text->upper_len, &text->len, sizeof(text->len));
	free(text->room);
}

static const struct predefined_handle *type_row(MPI_Datatype real)
{
	for (unsigned i = 0; i < predefined_handle_count; i++) {
		if (predefined_handles[i].class == RDB_TYPE && predefined_handles[i].real == (void *)real)
			return &predefined_handles[i];
	}
	return NULL;
}

/* MPI_Type_size works between MPI_Init and MPI_Finalize only. */
static size_t type_bytes(MPI_Datatype real)
{
	if (real == MPI_CHAR)
		return 1;
	return real == MPI_INT || real == MPI_UNSIGNED ? sizeof(int) : sizeof(long);
}

static void put_type(uint64_t upper, MPI_Datatype real)
{
	const struct predefined_handle *row = type_row(real);

	if (row)
		put_handle((void **)upper, RDB_TYPE, row->id);
}

/* required, provided, predefined handles */
int64_t real_T_init_thread(const uint64_t *a)
{
	int provided, rc;

	tables_show((void *)a[2]);
	rc = PMPI_T_init_thread((int)a[0], &provided);
	if (rc == MPI_SUCCESS)
		put_int(a[1], provided);
	begun += rc == MPI_SUCCESS;
	return rc;
}

int64_t real_T_finalize(const uint64_t *a __attribute__((unused)))
{
	int rc = PMPI_T_finalize();

	begun -= rc == MPI_SUCCESS;
	return rc;
}

/* enumtype, num, name, name_len */
int64_t real_T_enum_get_info(const uint64_t *a)
{
	struct text name;
	int num = 0, rc;

	text_begin(&name, a[2], a[3]);
	rc = PMPI_T_enum_get_info(tool_real(a[0]), &num, text_room(&name), text_len(&name));
	if (rc == MPI_SUCCESS)
		put_int(a[1], num);
	text_end(&name, rc);
	return rc;
}

/* enumtype, index, value, name, name_len */
int64_t real_T_enum_get_item(const uint64_t *a)
{
	struct text name;
	int value = 0, rc;

	text_begin(&name, a[3], a[4]);
	rc = PMPI_T_enum_get_item(tool_real(a[0]), (int)a[1], &value, text_room(&name), text_len(&name));
	if (rc == MPI_SUCCESS)
		put_int(a[2], value);
	text_end(&name, rc);
	return rc;
}

/* cvar_index, name, name_len, verbosity, datatype, enumtype, desc, desc_len, bind, scope */
int64_t real_T_cvar_get_info(const uint64_t *a)
{
	struct text name, desc;
	int verbosity = 0, bind = 0, scope = 0, rc;
	MPI_Datatype type = MPI_DATATYPE_NULL;
	MPI_T_enum enumeration = MPI_T_ENUM_NULL;

	text_begin(&name, a[1], a[2]);
	text_begin(&desc, a[6], a[7]);
	rc = PMPI_T_cvar_get_info((int)a[0], text_room(&name), text_len(&name), &verbosity, &type, &enumeration,
				  text_room(&desc), text_len(&desc), &bind, &scope);
	if (rc == MPI_SUCCESS) {
		put_int(a[3], verbosity);
		put_type(a[4], type);
		put_enum((void *)a[5], enumeration);
		put_int(a[8], bind);
		put_int(a[9], scope);
	}
	text_end(&name, rc);
	text_end(&desc, rc);
	return rc;
}

/* pvar_index, name, name_len, verbosity, var_class, datatype, enumtype, desc, desc_len, bind, readonly,
 * continuous, atomic */
int64_t real_T_pvar_get_info(const uint64_t *a)
{
	struct text name, desc;
	int verbosity = 0, class = 0, bind = 0, readonly = 0, continuous = 0, atomic = 0, rc;
	MPI_Datatype type = MPI_DATATYPE_NULL;
	MPI_T_enum enumeration = MPI_T_ENUM_NULL;

	text_begin(&name, a[1], a[2]);
	text_begin(&desc, a[7], a[8]);
	rc = PMPI_T_pvar_get_info((int)a[0], text_room(&name), text_len(&name), &verbosity, &class, &type, &enumeration,
				  text_room(&desc), text_len(&desc), &bind, &readonly, &continuous, &atomic);
	if (rc == MPI_SUCCESS) {
		put_int(a[3], verbosity);
		put_int(a[4], class);
		put_type(a[5], type);
		put_enum((void *)a[6], enumeration);
		put_int(a[9], bind);
		put_int(a[10], readonly);
		put_int(a[11], continuous);
		put_int(a[12], atomic);
	}
	text_end(&name, rc);
	text_end(&desc, rc);
	return rc;
}

/* cat_index, name, name_len, desc, desc_len, num_cvars, num_pvars, num_categories */
int64_t real_T_category_get_info(const uint64_t *a)
{
	struct text name, desc;
	int cvars = 0, pvars = 0, categories = 0, rc;

	text_begin(&name, a[1], a[2]);
	text_begin(&desc, a[3], a[4]);
	rc = PMPI_T_category_get_info((int)a[0], text_room(&name), text_len(&name), text_room(&desc), text_len(&desc),
				      &cvars, &pvars, &categories);
	if (rc == MPI_SUCCESS) {
		put_int(a[5], cvars);
		put_int(a[6], pvars);
		put_int(a[7], categories);
	}
	text_end(&name, rc);
	text_end(&desc, rc);
	return rc;
}

/* The object that a variable is bound to.  `upper` points to a handle of the program. */
static void *bound(int bind, void *const *upper, void **real)
{
	static const unsigned classes[] = {
		[MPI_T_BIND_MPI_COMM] = RDB_COMM,       [MPI_T_BIND_MPI_DATATYPE] = RDB_TYPE,
		[MPI_T_BIND_MPI_ERRHANDLER] = 0,        [MPI_T_BIND_MPI_FILE] = RDB_FILE,
		[MPI_T_BIND_MPI_GROUP] = RDB_GROUP,     [MPI_T_BIND_MPI_OP] = RDB_OP,
		[MPI_T_BIND_MPI_REQUEST] = RDB_REQUEST, [MPI_T_BIND_MPI_WIN] = RDB_WIN,
		[MPI_T_BIND_MPI_MESSAGE] = RDB_MESSAGE, [MPI_T_BIND_MPI_INFO] = RDB_INFO,
	};
	unsigned class = bind >= 0 && (size_t)bind < sizeof(classes) / sizeof(classes[0]) ? classes[bind] : 0;

	if (!class || !upper)
		return NULL;
	*real = object_of(class, rdb_id(class, *upper))->real;
	return real;
}

/* cvar_index, obj_handle, handle, count */
int64_t real_T_cvar_handle_alloc(const uint64_t *a)
{
	int verbosity, bind = MPI_T_BIND_NO_OBJECT, scope, none = 0, also_none = 0, count = 0, rc;
	MPI_Datatype type = MPI_INT;
	MPI_T_enum enumeration;
	MPI_T_cvar_handle handle;
	void *object;

	rc = PMPI_T_cvar_get_info((int)a[0], NULL, &none, &verbosity, &type, &enumeration, NULL, &also_none, &bind,
				  &scope);
	if (rc == MPI_SUCCESS)
		rc = PMPI_T_cvar_handle_alloc((int)a[0], bound(bind, (void *const *)a[1], &object), &handle, &count);
	if (rc == MPI_SUCCESS) {
		put_tool((void *)a[2], handle, count * type_bytes(type));
		put_int(a[3], count);
	}
	return rc;
}

/* session, pvar_index, obj_handle, handle, count */
int64_t real_T_pvar_handle_alloc(const uint64_t *a)
{
	int verbosity, class, bind = MPI_T_BIND_NO_OBJECT, readonly, continuous, atomic, none = 0, also_none = 0;
	int count = 0, rc;
	MPI_Datatype type = MPI_INT;
	MPI_T_enum enumeration;
	MPI_T_pvar_handle handle;
	void *object;

	rc = PMPI_T_pvar_get_info((int)a[1], NULL, &none, &verbosity, &class, &type, &enumeration, NULL, &also_none,
				  &bind, &readonly, &continuous, &atomic);
	if (rc == MPI_SUCCESS)
		rc = PMPI_T_pvar_handle_alloc(tool_real(a[0]), (int)a[1], bound(bind, (void *const *)a[2], &object),
					      &handle, &count);
	if (rc == MPI_SUCCESS) {
		put_tool((void *)a[3], handle, count * type_bytes(type));
		put_int(a[4], count);
	}
	return rc;
}

/* `call` frees the handle `real` and makes it a null handle. */
#define FREED(upper, type, call) \
	do { \
		void *given = *(void **)(upper); \
		type real = tool_real((uint64_t)given); \
		int rc = call; \
\
		if (rc == MPI_SUCCESS) { \
			tool_of((uint64_t)given)->taken = false; \
			put((void *)(upper), &real, sizeof(real)); \
		} \
		return rc; \
	} while (0)

int64_t real_T_cvar_handle_free(const uint64_t *a)
{
	FREED(a[0], MPI_T_cvar_handle, PMPI_T_cvar_handle_free(&real));
}
int64_t real_T_pvar_handle_free(const uint64_t *a)
{
	FREED(a[1], MPI_T_pvar_handle, PMPI_T_pvar_handle_free(tool_real(a[0]), &real));
}
int64_t real_T_pvar_session_free(const uint64_t *a)
{
	FREED(a[0], MPI_T_pvar_session, PMPI_T_pvar_session_free(&real));
}

int64_t real_T_pvar_session_create(const uint64_t *a)
{
	MPI_T_pvar_session session;
	int rc = PMPI_T_pvar_session_create(&session);

	if (rc == MPI_SUCCESS)
		put_tool((void *)a[0], session, 0);
	return rc;
}

typedef int reader(void *session, void *handle, void *buf);

static int cvar_read(void *session __attribute__((unused)), void *handle, void *buf)
{
	return PMPI_T_cvar_read(handle, buf);
}
static int pvar_read(void *session, void *handle, void *buf)
{
	return PMPI_T_pvar_read(session, handle, buf);
}
static int pvar_readreset(void *session, void *handle, void *buf)
{
	return PMPI_T_pvar_readreset(session, handle, buf);
}

static int64_t value_read(reader *call, void *session, uint64_t handle, uint64_t upper)
{
	size_t bytes = tool_of(handle)->bytes;
	char *room = needed(calloc(1, bytes + sizeof(long)));
	int rc;

	rc = call(session, tool_real(handle), room);
	if (rc == MPI_SUCCESS)
		put((void *)upper, room, bytes);
	free(room);
	return rc;
}

int64_t real_T_cvar_read(const uint64_t *a)
{
	return value_read(cvar_read, NULL, a[0], a[1]);
}
int64_t real_T_pvar_read(const uint64_t *a)
{
	return value_read(pvar_read, tool_real(a[0]), a[1], a[2]);
}
int64_t real_T_pvar_readreset(const uint64_t *a)
{
	return value_read(pvar_readreset, tool_real(a[0]), a[1], a[2]);
}
int64_t real_T_cvar_write(const uint64_t *a)
{
	return PMPI_T_cvar_write(tool_real(a[0]), (const void *)a[1]);
}
int64_t real_T_pvar_write(const uint64_t *a)
{
	return PMPI_T_pvar_write(tool_real(a[0]), tool_real(a[1]), (const void *)a[2]);
}
int64_t real_T_pvar_start(const uint64_t *a)
{
	return PMPI_T_pvar_start(tool_real(a[0]), tool_real(a[1]));
}
int64_t real_T_pvar_stop(const uint64_t *a)
{
	return PMPI_T_pvar_stop(tool_real(a[0]), tool_real(a[1]));
}
int64_t real_T_pvar_reset(const uint64_t *a)
{
	return PMPI_T_pvar_reset(tool_real(a[0]), tool_real(a[1]));
}
