/* MPI_Info before MPI_Init and after MPI_Finalize (MPI-4.0, 11.4.1). */
#include "check.h"

static MPI_Info kept;

static void use(void)
{
	char text[16] = "";
	int n = sizeof(text), flag = 0;
	MPI_Info info, same;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "one", "1"));
	OK(MPI_Info_set(info, "two", "2"));
	OK(MPI_Info_dup(info, &same));
	OK(MPI_Info_delete(same, "one"));
	OK(MPI_Info_get_nkeys(same, &n));
	CHECK(n == 1);
	OK(MPI_Info_get_nthkey(same, 0, text));
	CHECK(!strcmp(text, "two"));
	OK(MPI_Info_get_valuelen(same, "two", &n, &flag));
	CHECK(n == 1 && flag);
	n = sizeof(text);
	OK(MPI_Info_get_string(kept, "kept", &n, text, &flag));
	CHECK(flag && !strcmp(text, "yes"));
	OK(MPI_Info_free(&same));
	OK(MPI_Info_free(&info));
	OK(MPI_Info_create_env(0, NULL, &info));
	OK(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
	OK(MPI_Info_create(&kept));
	OK(MPI_Info_set(kept, "kept", "yes"));
	use();
	begin(&argc, &argv);
	use();
	end();
	use();
	OK(MPI_Info_free(&kept));
	CHECK(kept == MPI_INFO_NULL);
	printf("%d: after\n", rank);
	return 0;
}
