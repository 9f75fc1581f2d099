/* The tool interface of whatever MPI: each variable, and that constants are those of the program's mpi.h. */
#include "check.h"

#define ONE_OF(value, first, last) CHECK((value) >= (first) && (value) <= (last))

static void control_variables(void)
{
	int n, index, known = 0;

	OK(MPI_T_cvar_get_num(&n));
	CHECK(n > 10);
	for (int i = 0; i < n; i++) {
		char name[256], again[4096];
		int name_len = sizeof(name), desc_len = sizeof(again), verbosity, bind, scope, count;
		MPI_Datatype type;
		MPI_T_enum enumeration;
		MPI_T_cvar_handle handle;
		int rc = MPI_T_cvar_get_info(i, name, &name_len, &verbosity, &type, &enumeration, again, &desc_len,
					     &bind, &scope);

		if (rc != MPI_SUCCESS) {
			CHECK(rc == MPI_T_ERR_INVALID_INDEX);
			continue;
		}
		ONE_OF(verbosity, MPI_T_VERBOSITY_USER_BASIC, MPI_T_VERBOSITY_MPIDEV_ALL);
		ONE_OF(bind, MPI_T_BIND_NO_OBJECT, MPI_T_BIND_MPI_INFO);
		ONE_OF(scope, MPI_T_SCOPE_CONSTANT, MPI_T_SCOPE_ALL_EQ);
		OK(MPI_T_cvar_get_index(name, &index));
		if (known == 6 || type != MPI_INT || bind != MPI_T_BIND_NO_OBJECT)
			continue;
		OK(MPI_T_cvar_handle_alloc(i, NULL, &handle, &count));
		OK(MPI_T_cvar_handle_free(&handle));
		CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
		known++;
	}
	CHECK(known > 5);
	CHECK(MPI_T_cvar_get_index("no such variable", &index) == MPI_T_ERR_INVALID_NAME);
}

static void performance_variables(void)
{
	int n;

	OK(MPI_T_pvar_get_num(&n));
	for (int i = 0; i < n; i++) {
		char name[256];
		int name_len = sizeof(name), verbosity, class, bind, readonly, continuous, atomic, none = 0, index;
		MPI_Datatype type;
		MPI_T_enum enumeration;

		if (MPI_T_pvar_get_info(i, name, &name_len, &verbosity, &class, &type, &enumeration, NULL, &none, &bind,
					&readonly, &continuous, &atomic) != MPI_SUCCESS)
			continue;
		ONE_OF(verbosity, MPI_T_VERBOSITY_USER_BASIC, MPI_T_VERBOSITY_MPIDEV_ALL);
		ONE_OF(class, MPI_T_PVAR_CLASS_STATE, MPI_T_PVAR_CLASS_GENERIC);
		ONE_OF(bind, MPI_T_BIND_NO_OBJECT, MPI_T_BIND_MPI_INFO);
		OK(MPI_T_pvar_get_index(name, class, &index));
	}
}

int main(int argc, char **argv)
{
	int provided;

	OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
	ONE_OF(provided, MPI_THREAD_SINGLE, MPI_THREAD_MULTIPLE);
	control_variables();
	begin(&argc, &argv);
	control_variables();
	performance_variables();
	OK(MPI_T_finalize());
	return end();
}
