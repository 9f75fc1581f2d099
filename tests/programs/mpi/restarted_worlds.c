/* Processes that start others, and messages of all kinds between them; a restart at any event prints the same sums.
 * argv: steps.  Two ranks start two; in the middle rank 1 alone starts two of different commands. */
#include "check.h"

enum { BEHIND = 3, MOST = 2 };

static unsigned long sum, any; /* any: in whatever order it came */

static void add(long value)
{
	sum = sum * 31 + (unsigned long)value;
}

/* What the other side has sent some steps ago, a reduction of the others' and one of all. */
static void step(MPI_Comm inter, MPI_Comm all, int n, int steps)
{
	long mine = 1000L * n + 10 * rank, got[MOST] = {0}, late, most, total;
	int others, behind = n + 1 < steps ? n >= BEHIND : BEHIND + 1;
	MPI_Request requests[MOST];
	MPI_Status status;

	MPI_Comm_remote_size(inter, &others);
	CHECK(others <= MOST);
	for (int i = 0; i < others; i++)
		OK(MPI_Irecv(&got[i], 1, MPI_LONG, i, 2, inter, &requests[i]));
	for (int i = 0; i < others; i++, mine++) {
		OK(MPI_Send(&mine, 1, MPI_LONG, i, 1, inter));
		OK(MPI_Send(&mine, 1, MPI_LONG, i, 2, inter));
	}
	for (int i = 0; i < behind * others; i++) {
		OK(MPI_Recv(&late, 1, MPI_LONG, MPI_ANY_SOURCE, 1, inter, &status));
		any += (unsigned long)(late * (status.MPI_SOURCE + 7));
	}
	OK(MPI_Waitall(others, requests, MPI_STATUSES_IGNORE));
	for (int i = 0; i < others; i++)
		add(got[i]);
	OK(MPI_Allreduce(&mine, &most, 1, MPI_LONG, MPI_MAX, inter));
	OK(MPI_Allreduce(&mine, &total, 1, MPI_LONG, MPI_SUM, all));
	add(most + total);
}

static void run(MPI_Comm inter, int high, int steps, MPI_Comm *again, MPI_Comm *all)
{
	OK(MPI_Comm_dup(inter, again));
	OK(MPI_Intercomm_merge(*again, high, all));
	for (int n = 0; n < steps; n++)
		step(n % 2 ? inter : *again, *all, n / 2, steps / 2);
}

static void leave(MPI_Comm *inter, MPI_Comm *again, MPI_Comm *all)
{
	OK(MPI_Comm_free(all));
	OK(MPI_Comm_free(again));
	OK(MPI_Comm_disconnect(inter));
}

static int child(MPI_Comm parent, char **argv, int steps)
{
	MPI_Comm again, all, same;
	int *number, flag;

	run(parent, 1, steps, &again, &all);
	MPI_Comm_get_parent(&same);
	CHECK(same == parent);
	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &flag);
	CHECK(flag && *number == atoi(argv[2]));
	printf("%s %d: %lx %lx\n", argv[3], rank, sum, any);
	fflush(stdout);
	leave(&parent, &again, &all);
	MPI_Comm_get_parent(&same);
	CHECK(same == MPI_COMM_NULL);
	return MPI_Finalize();
}

int main(int argc, char **argv)
{
	int steps = atoi(argv[1]), codes[2], one[2] = {1, 1};
	char *arguments[] = {argv[1], "0", "child", NULL}, *second[] = {argv[1], "0", "single", NULL};
	char *third[] = {argv[1], "1", "single", NULL}, **both[] = {second, third}, *commands[] = {argv[0], argv[0]};
	MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
	MPI_Comm parent, children, again, all, single, single_again, single_all;

	begin(&argc, &argv);
	MPI_Comm_get_parent(&parent);
	if (parent != MPI_COMM_NULL)
		return child(parent, argv, steps);
	add(rank);
	OK(MPI_Comm_spawn(argv[0], arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, codes));
	CHECK(codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS);
	run(children, 0, steps, &again, &all);
	if (rank == 1) {
		OK(MPI_Comm_spawn_multiple(2, commands, both, one, infos, 0, MPI_COMM_SELF, &single, codes));
		run(single, 0, steps, &single_again, &single_all);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	printf("%d: %lx %lx\n", rank, sum, any);
	fflush(stdout);
	if (rank == 1)
		leave(&single, &single_again, &single_all);
	leave(&children, &again, &all);
	return MPI_Finalize();
}
