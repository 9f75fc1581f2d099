/* Sessions, without MPI_Init and beside it. */
#include "check.h"

static int failures;

static void count_failure(MPI_Session *session, int *code, ...)
{
	failures++;
}

int main(int argc, char **argv)
{
	int sum = 0, n, len, flag, inter, alone, n_psets = 0;
	MPI_Group group, even, odd;
	MPI_Session session, other;
	MPI_Errhandler handler;
	char name[64], *value;
	MPI_Comm comm, both;
	MPI_Info info;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE"));
	OK(MPI_Session_create_errhandler(count_failure, &handler));
	OK(MPI_Session_init(info, handler, &session));
	OK(MPI_Info_free(&info));
	MPI_Initialized(&flag);
	CHECK(!flag);
	OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
	CHECK(n >= 2);
	for (int i = 0; i < n; i++) {
		len = 0;
		OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &len, NULL));
		CHECK(len > 1 && len <= (int)sizeof(name));
		OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &len, name));
		CHECK((int)strlen(name) == len - 1);
		n_psets += !strcmp(name, "mpi://WORLD") + !strcmp(name, "mpi://SELF");
	}
	CHECK(n_psets == 2);
	len = 4; /* what there is room for */
	OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &len, name));
	CHECK(strlen(name) == 3 && !strncmp(name, "mpi", 3));
	CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &len, name) != MPI_SUCCESS && failures == 1);
	OK(MPI_Session_get_info(session, &info));
	OK(MPI_Info_get(info, "thread_level", sizeof(name) - 1, name, &flag));
	CHECK(flag && !strcmp(name, "MPI_THREAD_MULTIPLE"));
	OK(MPI_Info_free(&info));
	CHECK(MPI_Group_from_session_pset(session, "no such set", &group) != MPI_SUCCESS && failures == 2);
	OK(MPI_Group_from_session_pset(session, "mpi://self", &group));
	OK(MPI_Group_size(group, &alone));
	CHECK(alone == 1);
	OK(MPI_Group_free(&group));
	OK(MPI_Session_get_pset_info(session, "mpi://WORLD", &info));
	OK(MPI_Info_get(info, "mpi_size", sizeof(name) - 1, name, &flag));
	CHECK(flag);
	OK(MPI_Info_free(&info));
	OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
	OK(MPI_Comm_create_from_group(group, "a tag", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
	OK(MPI_Comm_rank(comm, &rank));
	OK(MPI_Comm_size(comm, &size));
	CHECK(size == atoi(name));
	OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
	CHECK(sum == size * (size - 1) / 2);
	CHECK(MPI_Send(NULL, 0, MPI_INT, size, 1, comm) != MPI_SUCCESS); /* returns */

	if (size > 1) {
		OK(MPI_Group_incl(group, 1, (int[]){0}, &even));
		OK(MPI_Group_excl(group, 1, (int[]){0}, &odd));
		OK(MPI_Intercomm_create_from_groups(rank ? odd : even, 0, rank ? even : odd, 0, "between",
						    MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &both));
		OK(MPI_Comm_test_inter(both, &inter));
		OK(MPI_Comm_remote_size(both, &n));
		CHECK(inter && n == (rank ? 1 : size - 1));
		OK(MPI_Comm_free(&both));
		OK(MPI_Group_free(&even));
		OK(MPI_Group_free(&odd));
	}
	OK(MPI_Group_free(&group));
	OK(MPI_Comm_free(&comm));
	OK(MPI_Session_finalize(&session));
	CHECK(session == MPI_SESSION_NULL);
	MPI_Finalized(&flag);
	CHECK(!flag);
	OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &other));
	if (argc > 1) {
		OK(MPI_Init(&argc, &argv));
		OK(MPI_Barrier(MPI_COMM_WORLD));
		OK(MPI_Finalize());
	}
	OK(MPI_Session_finalize(&other));
	printf("%d: good\n", rank);
	return 0;
}
