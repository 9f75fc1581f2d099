/* Processes that are started by others and processes that meet. */
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include "check.h"

/* Parents and children: a ring through the intercommunicator, then one communicator of all. */
static void together(MPI_Comm inter, int parent, int parents, int children)
{
	int n, sum, flag, mine, all;
	MPI_Comm merged;

	MPI_Comm_test_inter(inter, &flag);
	CHECK(flag);
	MPI_Comm_remote_size(inter, &n);
	CHECK(n == (parent ? children : parents));
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter); /* of the others */
	CHECK(sum == n * (n - 1) / 2);
	mine = parent && rank == 0 ? 4711 : 0;
	MPI_Bcast(&mine, 1, MPI_INT, parent ? (rank ? MPI_PROC_NULL : MPI_ROOT) : 0, inter);
	CHECK(parent || mine == 4711);
	MPI_Intercomm_merge(inter, !parent, &merged);
	MPI_Comm_size(merged, &all);
	MPI_Comm_rank(merged, &n);
	CHECK(all == parents + children && n == (parent ? rank : parents + rank));
	MPI_Allreduce(&n, &sum, 1, MPI_INT, MPI_SUM, merged);
	CHECK(sum == all * (all - 1) / 2);
	MPI_Comm_free(&merged);
}

static int child(MPI_Comm parent, char **argv)
{
	MPI_Comm again;

	MPI_Comm_get_parent(&again);
	CHECK(again == parent);
	CHECK(!strcmp(argv[1], "child") && !strcmp(argv[2], "two words"));
	together(parent, 0, 2, 2);
	MPI_Comm_disconnect(&parent);
	CHECK(parent == MPI_COMM_NULL);
	printf("child %d: good\n", rank);
	return MPI_Finalize();
}

/* Over a socket of their own. */
static void join(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0), end = fd, got = -1;
	MPI_Comm inter;

	if (rank == 0) {
		CHECK(!bind(fd, (struct sockaddr *)&address, length) && !listen(fd, 1));
		CHECK(!getsockname(fd, (struct sockaddr *)&address, &length));
		MPI_Send(&address.sin_port, 1, MPI_SHORT, 1, 9, MPI_COMM_WORLD);
		end = accept(fd, NULL, NULL);
		CHECK(end >= 0);
	} else {
		MPI_Recv(&address.sin_port, 1, MPI_SHORT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(!connect(fd, (struct sockaddr *)&address, length));
	}
	OK(MPI_Comm_join(end, &inter));
	OK(MPI_Sendrecv(&rank, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE));
	CHECK(got == 1 - rank);
	OK(MPI_Comm_disconnect(&inter));
	close(end);
	close(fd);
}

/* Rank 0 accepts, rank 1 connects, by a name. */
static void meet(void)
{
	char port[MPI_MAX_PORT_NAME];
	int got = -1;
	MPI_Comm inter;

	if (rank == 0) {
		OK(MPI_Open_port(MPI_INFO_NULL, port));
		OK(MPI_Publish_name("meeting", MPI_INFO_NULL, port));
		MPI_Barrier(MPI_COMM_WORLD);
		OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
		OK(MPI_Unpublish_name("meeting", MPI_INFO_NULL, port));
		OK(MPI_Close_port(port));
	} else {
		MPI_Barrier(MPI_COMM_WORLD);
		OK(MPI_Lookup_name("meeting", MPI_INFO_NULL, port));
		OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
	}
	OK(MPI_Sendrecv(&rank, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE));
	CHECK(got == 1 - rank);
	OK(MPI_Comm_disconnect(&inter));
}

int main(int argc, char **argv)
{
	MPI_Comm parent, children, none;
	int codes[2] = {-1, -1}, *universe, flag;
	MPI_Info info;
	char *arguments[] = {"child", "two words", NULL};

	begin(&argc, &argv);
	MPI_Comm_get_parent(&parent);
	if (parent != MPI_COMM_NULL)
		return child(parent, argv);
	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &flag);
	OK(MPI_Info_create(&info));
	if (argc > 3)
		OK(MPI_Info_set(info, "path", argv[3]));
	OK(MPI_Comm_spawn(argc > 2 ? argv[2] : argv[0], arguments, 2, info, 0, MPI_COMM_WORLD, &children, codes));
	OK(MPI_Info_free(&info));
	CHECK(codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS);
	together(children, 1, 2, 2);
	OK(MPI_Comm_disconnect(&children));
	if (argc > 1 && !strcmp(argv[1], "meet"))
		meet(), join();
	MPI_Comm_get_parent(&none);
	CHECK(none == MPI_COMM_NULL);
	return end();
}
