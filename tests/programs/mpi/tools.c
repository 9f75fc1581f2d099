/* The tool information interface, before, during and after MPI. */
#include "check.h"

static int find(const char *wanted)
{
	int n, index;

	OK(MPI_T_cvar_get_num(&n));
	CHECK(n > 100);
	OK(MPI_T_cvar_get_index(wanted, &index));
	CHECK(index >= 0 && index < n);
	return index;
}

static void control_variables(void)
{
	char name[256], desc[256], text[4096];
	int name_len = sizeof(name), desc_len = sizeof(desc), verbosity, bind, scope, count, number, len = 4;
	int index = find("btl_base_verbose");
	MPI_Datatype type;
	MPI_T_enum enumeration;
	MPI_T_cvar_handle handle;

	OK(MPI_T_cvar_get_info(index, name, &name_len, &verbosity, &type, &enumeration, desc, &desc_len, &bind, &scope));
	CHECK(!strcmp(name, "btl_base_verbose") && name_len == (int)strlen(name) + 1);
	CHECK(type == MPI_INT && bind == MPI_T_BIND_NO_OBJECT);
	OK(MPI_T_cvar_get_info(index, name, &len, &verbosity, &type, &enumeration, NULL, NULL, &bind, &scope));
	CHECK(!strcmp(name, "btl"));
	if (enumeration != MPI_T_ENUM_NULL) {
		int items, value;

		name_len = sizeof(name);
		OK(MPI_T_enum_get_info(enumeration, &items, name, &name_len));
		for (int i = 0; i < items; i++) {
			name_len = sizeof(name);
			OK(MPI_T_enum_get_item(enumeration, i, &value, name, &name_len));
			CHECK(name[0]);
		}
	}
	OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
	CHECK(count == 1);
	OK(MPI_T_cvar_read(handle, &number));
	CHECK(number >= -1 && number < 1000);
	OK(MPI_T_cvar_handle_free(&handle));
	CHECK(handle == MPI_T_CVAR_HANDLE_NULL);

	index = find("btl"); /* a string */
	OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
	CHECK(count > 1 && count <= (int)sizeof(text));
	OK(MPI_T_cvar_read(handle, text));
	OK(MPI_T_cvar_handle_free(&handle));
	CHECK(MPI_T_cvar_get_index("no such variable", &index) == MPI_T_ERR_INVALID_NAME);
}

/* Each performance variable that can be read without an object or of the world. */
static void performance_variables(void)
{
	MPI_T_pvar_session session;
	int n, worked = 0, cats, stamp;

	OK(MPI_T_pvar_session_create(&session));
	OK(MPI_T_pvar_get_num(&n));
	for (int i = 0; i < n; i++) {
		char name[256], desc[512], value[4096];
		int name_len = sizeof(name), desc_len = sizeof(desc), verbosity, class, bind, readonly, continuous, atomic, count;
		MPI_Comm world = MPI_COMM_WORLD;
		MPI_Datatype type;
		MPI_T_enum enumeration;
		MPI_T_pvar_handle handle;

		if (MPI_T_pvar_get_info(i, name, &name_len, &verbosity, &class, &type, &enumeration, desc, &desc_len, &bind,
					&readonly, &continuous, &atomic) != MPI_SUCCESS)
			continue;
		if (strncmp(name, "pml_", 4)) /* those of networks that are not there crash */
			continue;
		if (MPI_T_pvar_handle_alloc(session, i, &world, &handle, &count) != MPI_SUCCESS)
			continue;
		if (!continuous)
			OK(MPI_T_pvar_start(session, handle));
		if ((size_t)count * 8 <= sizeof(value) && MPI_T_pvar_read(session, handle, value) == MPI_SUCCESS)
			worked++;
		if (!continuous)
			OK(MPI_T_pvar_stop(session, handle));
		OK(MPI_T_pvar_handle_free(session, &handle));
		CHECK(handle == MPI_T_PVAR_HANDLE_NULL);
	}
	CHECK(worked > 0);
	OK(MPI_T_pvar_session_free(&session));
	CHECK(session == MPI_T_PVAR_SESSION_NULL);
	OK(MPI_T_category_get_num(&cats));
	OK(MPI_T_category_changed(&stamp));
	for (int i = 0; i < cats && i < 5; i++) {
		char name[256], desc[256];
		int name_len = sizeof(name), desc_len = sizeof(desc), cvars, pvars, inner, indices[4];

		OK(MPI_T_category_get_info(i, name, &name_len, desc, &desc_len, &cvars, &pvars, &inner));
		if (cvars >= 4)
			OK(MPI_T_category_get_cvars(i, 4, indices));
	}
}

int main(int argc, char **argv)
{
	int provided;

	OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
	control_variables();
	begin(&argc, &argv);
	control_variables();
	performance_variables();
	OK(MPI_T_finalize()); /* after MPI_Finalize Open MPI 4.1 crashes */
	return end();
}
