/* Grandparents and grandchildren, who have not started each other, meet by way of the parents. */
#include "check.h"

static void ring(MPI_Comm comm)
{
	int n, all, got = -1, sum;

	MPI_Comm_rank(comm, &n);
	MPI_Comm_size(comm, &all);
	OK(MPI_Sendrecv(&n, 1, MPI_INT, (n + 1) % all, 5, &got, 1, MPI_INT, (n + all - 1) % all, 5, comm,
			MPI_STATUS_IGNORE));
	CHECK(got == (n + all - 1) % all);
	OK(MPI_Allreduce(&n, &sum, 1, MPI_INT, MPI_SUM, comm));
	CHECK(sum == all * (all - 1) / 2);
}

int main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 0, tag = 12;
	char next[8], *arguments[] = {next, NULL};
	MPI_Comm parent, up, child, down, above, all;

	begin(&argc, &argv);
	snprintf(next, sizeof(next), "%d", depth + 1);
	MPI_Comm_get_parent(&parent);
	CHECK((parent == MPI_COMM_NULL) == (depth == 0));
	if (depth < 2)
		OK(MPI_Comm_spawn(argv[0], arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &child, MPI_ERRCODES_IGNORE));
	if (depth > 0)
		OK(MPI_Intercomm_merge(parent, 1, &up));
	if (depth < 2)
		OK(MPI_Intercomm_merge(child, 0, &down));
	/* the first and the pair of the others, by the second */
	if (depth == 0)
		OK(MPI_Intercomm_create(MPI_COMM_SELF, 0, down, 1, tag, &above));
	else
		OK(MPI_Intercomm_create(depth == 1 ? down : up, 0, depth == 1 ? up : MPI_COMM_NULL, 0, tag, &above));
	OK(MPI_Intercomm_merge(above, depth > 0, &all));
	for (int i = 0; i < 5; i++)
		ring(all);
	MPI_Comm_rank(all, &tag);
	CHECK(tag == depth);
	printf("depth %d: good\n", depth);
	fflush(stdout);
	OK(MPI_Barrier(all));
	OK(MPI_Comm_free(&all));
	OK(MPI_Comm_free(&above));
	if (depth > 0)
		OK(MPI_Comm_free(&up));
	if (depth < 2)
		OK(MPI_Comm_free(&down));
	if (depth < 2)
		OK(MPI_Comm_disconnect(&child));
	if (depth > 0)
		OK(MPI_Comm_disconnect(&parent));
	return MPI_Finalize();
}
